import { afterAll, beforeAll, expect, test } from "vitest";
import { type LoopbackServer, startLoopback } from "../../examples/demo/loopback-server.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";

const limit = 120_000;
const repo = "octo/app";

interface Tool {
  readonly qualified_name: string;
  readonly description: string;
  readonly origin: string;
  readonly stored: boolean;
  readonly endpoint: string | null;
  readonly parameters: Record<string, { type: string; required: boolean }>;
}
interface Called {
  readonly id: string;
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly tool: string;
  readonly status: string;
  readonly result: unknown;
  readonly error: string | null;
  readonly prompt_tokens: number;
}

let tracker: Tracker;
let model: Model;
let endpoint: LoopbackServer;
let service: Service;
/** The endpoint's responses by path. */
const answers: Record<string, (request: Request) => Response | Promise<Response>> = {
  "/weather": () => Response.json({ sky: "clear" }),
  "/text": () => new Response("plain words"),
  "/empty": () => new Response(null, { status: 204 }),
  "/broken": () => new Response("out of order", { status: 500 }),
  "/lies": () => new Response("{not json", { headers: { "content-type": "application/json" } }),
  "/deep": () => new Response("[".repeat(2000), { headers: { "content-type": "application/json" } }),
  "/huge": () => new Response("x".repeat(3_000_000)),
  "/repeats": ({ url }) => new Response(`no key in ${url}`, { status: 401 }),
  "/moved": () => new Response(null, { status: 307, headers: { location: "/weather" } }),
};

beforeAll(async () => {
  tracker = await startTracker({ token: "t0ken", autoCreate: true });
  model = await startModel();
  endpoint = await startLoopback({
    handler: (request) => answers[new URL(request.url).pathname]?.(request) ?? new Response(null, { status: 404 }),
    errorBody: () => ({}),
  });
  service = await startService({
    seed: true,
    env: { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "t0ken", LLM_BASE_URL: model.url, LLM_API_KEY: "x", LLM_MODEL: "m" },
  });
}, limit);
afterAll(async () => {
  await service?.close();
  await Promise.all([tracker?.close(), model?.close(), endpoint?.close()]);
});

const listed = async (name: string): Promise<Tool | undefined> =>
  (await service.get<Tool[]>("/api/tools?limit=1000")).body.find((tool) => tool.qualified_name === name);
const calls = async (query = ""): Promise<Called[]> => (await service.get<Called[]>(`/api/tool-executions?${query}`)).body;
const execute = (name: string, parameters: object) =>
  service.post<Called & { error: string }>(`/api/tools/${name}/execute`, { parameters });

test("lists a plugin's tools, seeds the fourteen once, and pages", { timeout: limit }, async () => {
  const own = await listed("alpha.add_comment");
  expect(own).toMatchObject({ origin: "builtin", stored: false, endpoint: null });
  expect(own?.parameters).toMatchObject({ issue: { type: "string", required: true }, project: { required: false } });
  expect((await service.post("/api/tools/seed")).body).toEqual({ created: 14, skipped: 0 });
  expect((await service.post("/api/tools/seed")).body).toEqual({ created: 0, skipped: 14 });
  expect(await listed("alpha.add_comment")).toMatchObject({ origin: "builtin", stored: true });
  expect((await listed("gamma.transition_issue"))?.parameters.transition).toMatchObject({ type: "string", required: true });
  const page = await service.get<Tool[]>("/api/tools?limit=3&offset=1");
  expect(page.body).toHaveLength(3);
  expect(Number(page.headers.get("x-total-count"))).toBeGreaterThanOrEqual(14);
  expect((await service.get("/api/tools?limit=0")).status).toBe(400);
});

test("stores, changes and deletes a tool", { timeout: limit }, async () => {
  const body = {
    provider: "weather",
    name: "today",
    parameters: { city: { type: "string", required: true }, days: { type: "integer" } },
  };
  const created = await service.post<Tool>("/api/tools", {
    ...body,
    description: "Weather.",
    endpoint: `${endpoint.url}/weather`,
  });
  expect(created).toMatchObject({ status: 201, body: { qualified_name: "weather.today", origin: "database", stored: true } });
  expect((await service.post("/api/tools", body)).status).toBe(409);
  const changed = await service.put<Tool>("/api/tools/weather.today", { description: "Weather of a city." });
  expect(changed).toMatchObject({
    status: 200,
    body: { description: "Weather of a city.", endpoint: `${endpoint.url}/weather` },
  });
  expect((await service.put("/api/tools/weather.today", { unknown: 1 })).status).toBe(400);
  expect((await service.put("/api/tools/weather.nothing", { description: "x" })).status).toBe(404);
  expect((await service.post("/api/tools", { ...body, name: "brief" })).status).toBe(201);
  expect((await service.del("/api/tools/weather.brief")).status).toBe(204);
  expect((await service.del("/api/tools/weather.brief")).status).toBe(404);
});

test.each([
  ["a name with a dot", { provider: "p", name: "a.b" }, 400, /name/],
  ["no name", { provider: "p" }, 400, /name/],
  ["an unknown type", { provider: "p", name: "a", parameters: { x: { type: "date" } } }, 400, /parameters.x.type/],
  ["plain http", { provider: "p", name: "a", endpoint: "http://example.com/x" }, 400, /endpoint.*https/],
  ["a private address", { provider: "p", name: "a", endpoint: "https://10.0.0.1/x" }, 400, /endpoint.*10\.0\.0\.1/],
  ["not an address", { provider: "p", name: "a", endpoint: "file:///etc/passwd" }, 400, /endpoint/],
  ["an endpoint for a plugin's tool", { provider: "alpha", name: "get_labels_", endpoint: "https://10.1.2.3" }, 400, /endpoint/],
])("refuses to store a tool with %s", { timeout: limit }, async (_, body, status, error) => {
  const answer = await service.post<{ error: string }>("/api/tools", body);
  expect(answer.status).toBe(status);
  expect(answer.body.error).toMatch(error);
});

test("a plugin's own tool takes no endpoint", { timeout: limit }, async () => {
  const answer = await service.put<{ error: string }>("/api/tools/alpha.get_issue", { endpoint: `${endpoint.url}/weather` });
  expect(answer.status).toBe(409);
  expect(answer.body.error).toMatch(/endpoint/);
});

test("executes a plugin's tool, and records it", { timeout: limit }, async () => {
  const done = await execute("alpha.add_comment", { project: repo, issue: 1, body: "By hand" });
  expect(done).toMatchObject({
    status: 200,
    body: { status: "succeeded", tool: "alpha.add_comment", execution_id: null, prompt_tokens: 0 },
  });
  expect(tracker.comments(repo, 1).map((comment) => comment.body)).toEqual([expect.stringContaining("By hand")]);
  expect((await calls("limit=1&fields=result"))[0]).toMatchObject({ id: done.body.id, result: done.body.result });
});

test("answers 404, 400 and 502", { timeout: limit }, async () => {
  expect((await execute("alpha.nothing", {})).status).toBe(404);
  expect((await execute("nothing", {})).status).toBe(404);
  const bad = await execute("alpha.add_comment", { project: repo, issue: 1 });
  expect(bad.status).toBe(400);
  expect(bad.body.error).toMatch(/parameters\.body/);
  const without = await execute("alpha.get_issue", {});
  expect(without.body).toEqual({
    error: expect.stringMatching(/^parameters\.issue: is required; it must be a string or a number/),
  });
  tracker.fault({ method: "GET", path: "/issues/77", status: 500, times: 0 });
  const failed = await execute("alpha.get_issue", { project: repo, issue: 77 });
  tracker.clearFaults();
  expect(failed.status).toBe(502);
  expect(failed.body).toEqual({ error: expect.stringMatching(/alpha\.get_issue/) });
  expect((await calls("status=failed"))[0]).toMatchObject({ tool: "alpha.get_issue", error: failed.body.error });
  expect(await calls("status=dry_run")).toEqual([]);
  expect((await service.get("/api/tool-executions?status=odd")).status).toBe(400);
});

test("calls an endpoint with checked parameters", { timeout: limit }, async () => {
  const done = await execute("weather.today", { city: "Oslo", days: null, secret: "dropped" });
  expect(done).toMatchObject({ status: 200, body: { status: "succeeded", result: { sky: "clear" } } });
  const sent = endpoint.requests.at(-1);
  expect(sent?.body).toEqual({ city: "Oslo" });
  expect(sent?.headers["idempotency-key"]).toBeTruthy();
  expect((await execute("weather.today", {})).body.error).toMatch(/parameters\.city: is required/);
  expect((await execute("weather.today", { city: "Oslo", days: "3" })).body.error).toMatch(
    /parameters\.days: must be an integer; it is a string/,
  );
});

test.each([
  ["/text", 200, "plain words"],
  ["/empty", 200, null],
  ["/broken", 502, /answered 500: out of order/],
  ["/lies", 502, /its body is not JSON/],
  ["/deep", 502, /levels deep/],
  ["/huge", 502, /more than 1048576 bytes/],
  ["/moved", 502, /answered 307/],
  ["/repeats?page=2&api_key=of-the-endpoint-1", 502, /answered 401: no key in \S+\/repeats\?page=2&api_key=\[redacted\]\.$/],
])("an endpoint that answers %s", { timeout: limit }, async (path, status, expected) => {
  expect((await service.put("/api/tools/weather.today", { endpoint: `${endpoint.url}${path}` })).status).toBe(200);
  const before = endpoint.requests.length;
  const answer = await execute("weather.today", { city: "Oslo" });
  expect(answer.status).toBe(status);
  if (expected instanceof RegExp) expect(answer.body.error).toMatch(expected);
  else expect(answer.body.result).toEqual(expected);
  expect(endpoint.requests.length - before, "never called twice").toBe(1);
});

test("an unreachable endpoint", { timeout: limit }, async () => {
  await service.put("/api/tools/weather.today", { endpoint: "http://127.0.0.1:2/x" });
  const answer = await execute("weather.today", { city: "Oslo" });
  expect(answer).toMatchObject({ status: 502, body: { error: expect.stringMatching(/could not be reached.*ECONNREFUSED/) } });
});

test("the model is offered endpoints and changed descriptions, and calls them", { timeout: limit }, async () => {
  await service.put("/api/tools/weather.today", { endpoint: `${endpoint.url}/weather` });
  await service.put("/api/tools/alpha.get_issue", { description: "Told anew." });
  await service.post("/api/tools", { provider: "idle", name: "never" });
  model.answerWith({
    reply: {
      tool_calls: [
        { name: "weather__today", arguments: { city: "Oslo" } },
        { name: "no_such", arguments: {} },
      ],
    },
  });
  const { body } = await service.webhook(issueOpened({ repo, number: 5 }));
  const [execution] = await waitForExecutions(service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
  expect(execution).toBeDefined();
  const [first] = model.chats();
  const functions = (first?.tools ?? []).map((tool) => tool.function as { name: string; description?: string });
  expect(functions.map(({ name }) => name)).toContain("weather__today");
  expect(functions.find(({ name }) => name === "alpha__get_issue")?.description).toBe("Told anew.");
  expect(functions.filter(({ name }) => /^(beta|gamma|delta|idle)__/.test(name))).toEqual([]);
  const [call] = (await calls("status=succeeded&fields=result")).filter(
    (one) => one.tool === "weather.today" && one.execution_id !== null,
  );
  expect(call).toMatchObject({ result: { sky: "clear" }, execution_id: expect.any(String) });
  expect(call?.prompt_tokens).toBeGreaterThan(0);
  const ofExecution = await calls(`execution_id=${call?.execution_id}`);
  expect(ofExecution.map((one) => `${one.tool} ${one.status}`)).toEqual(
    expect.arrayContaining(["no_such failed", "weather.today succeeded"]),
  );
  expect(ofExecution.every((one) => one.execution_id === call?.execution_id)).toBe(true);
  expect((await calls(`agent_id=${call?.agent_id}`)).every((one) => one.agent_id === call?.agent_id)).toBe(true);
  expect(await calls("agent_id=nobody")).toEqual([]);
});

test("without settings and with updates switched off", { timeout: limit }, async () => {
  await service.restart({ TRACKER_UPDATES_ENABLED: "false" });
  const dry = await execute("alpha.add_comment", { project: repo, issue: 9, body: "Not sent" });
  expect(dry).toMatchObject({ status: 200, body: { status: "dry_run" } });
  expect(tracker.comments(repo, 9)).toEqual([]);
  expect((await calls("status=dry_run")).map((one) => one.tool)).toEqual(["alpha.add_comment"]);
  expect((await execute("alpha.add_comment", { project: repo, issue: 9 })).status).toBe(400);
  await service.restart({ ALPHA_TOKEN: "" });
  const missing = await execute("alpha.add_comment", { project: repo, issue: 9, body: "x" });
  expect(missing).toMatchObject({ status: 503, body: { error: expect.stringContaining("ALPHA_TOKEN") } });
  expect((await execute("idle.never", {})).status).toBe(503);
});
