import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type ExecutionSeen, eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, token, type World } from "../harness/world.ts";

const repo = "octo/app";
const answer = "Answer of first";
let world: World;
let last = 0;

// No retries: an outage that used up a single attempt would make the run fail.
beforeAll(async () => {
  const env = { EXECUTION_RETRY_LIMIT: "0", WATCHDOG_ENABLED: "true", ENCRYPTION_KEY: "ab".repeat(32) };
  world = await startWorld({ tasks: ["first"], env });
});
afterAll(() => world?.[Symbol.asyncDispose]());

interface Seen extends ExecutionSeen {
  readonly waiting_for: string | null;
  readonly next_attempt_at: string | null;
}
interface Check {
  readonly name: string;
  readonly state: string;
  readonly message: string;
  readonly next_try_at: string | null;
}
const open = async () => {
  const number = ++last;
  const { status, body } = await world.service.webhook(issueOpened({ repo, number }));
  expect(status).toBe(202);
  return { number, event_id: body.event_id, id: body.executions?.[0]?.id ?? "" };
};
const list = async () => (await world.service.get<Seen[]>("/api/task-executions?limit=1000")).body;
const check = async (name: string) =>
  (await world.service.get<{ checks: Check[] }>("/api/status")).body.checks.find((one) => one.name === name);

const ended = async ({ event_id }: { event_id: string }) => (await waitForExecutions(world.service, { event_id }))[0];
const waits = (name: string) =>
  eventually(async () => {
    const one = await check(name);
    return one?.state === "failed" && one.message.includes("executions wait") && one;
  });

const location = "https://login.example/start";
const login = { method: "POST", path: "comments", status: 307, headers: { location }, times: 0 };

describe.each([
  ["model", "the model", "answers 503", { path: "chat", status: 503, times: 0 }],
  ["model", "the model", "cuts connections", { path: "chat", how: "destroy", times: 0 }],
  ["connection:alpha", "the connection alpha", "answers 503", { method: "POST", path: "comments", status: 503, times: 0 }],
  ["connection:alpha", "the connection alpha", "is behind a proxy whose session ended", login],
] as const)("%s, %s, %s for everybody and longer than all retries", (name, words, _, rule) => {
  test("fails nothing: work waits, says for what and until when, and resumes by itself", async () => {
    const { service, model, tracker } = world;
    const server = name === "model" ? model : tracker;
    const fault = server.fault(rule);
    const first = await open();
    const failed = await waits(name);
    expect(failed.next_try_at).not.toBeNull();
    expect(failed.message).toContain(new URL(server.url).host);
    if (rule === login) expect(failed.message).toContain("it redirects to login.example");
    const sent = [first, ...(await Promise.all(Array.from({ length: 20 }, open)))];
    // Three calls of the first attempt, and those of a failed probe.
    await eventually(() => fault.applied > 5, { timeout: 30_000 });
    // Each has to get as far as the request that the server does not answer.
    const waiting = await eventually(async () => {
      const seen = (await list()).filter(({ id }) => sent.some((one) => one.id === id));
      expect(seen.filter(({ state }) => state !== "queued" && state !== "running")).toEqual([]);
      const found = seen.filter(({ waiting_for }) => waiting_for?.startsWith(words));
      return found.length > 10 && found;
    });
    for (const one of waiting) {
      expect(one.waiting_for).toMatch(/, which is unavailable until it answers a probe at \d\d:\d\d:\d\d UTC: .*\w/);
      expect(one.next_attempt_at).not.toBeNull();
    }
    if (name === "model") expect(waiting.filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(10);
    server.clearFaults();
    for (const one of sent) {
      expect(await ended(one)).toMatchObject({ state: "succeeded", error: null });
      expect(textsOf(tracker, repo, one.number)).toEqual([answer]);
    }
    await eventually(async () => (await check(name))?.state === "ok");
    const entries = (await service.get<{ level: string; message: string }[]>("/api/watchdog?limit=1000")).body;
    for (const [level, message] of [
      ["error", "is unavailable"],
      ["info", "is available again"],
    ])
      expect(entries.some((one) => one.level === level && one.message.startsWith(`${words} ${message}`))).toBe(true);
  });
});

test("a proxy that redirects reads to its login page, too, such as the search for an earlier comment: work waits", async () => {
  world.tracker.fault({ path: "comments", status: 302, headers: { location }, times: 0 });
  const one = await open();
  expect((await waits("connection:alpha")).message).toContain("it redirects to login.example");
  world.tracker.clearFaults();
  expect(await ended(one)).toMatchObject({ state: "succeeded", error: null });
  expect(textsOf(world.tracker, repo, one.number)).toEqual([answer]);
});

test.each([
  ["model", "answers 500", { path: "chat", status: 500, times: 0 }, "500"],
  ["model", "cuts its answers off", { path: "chat", how: "truncate", times: 0 }, "could not be read"],
  ["tracker", "answers 500", { method: "POST", path: "comments", status: 500, times: 0 }, "500"],
] as const)("%s %s: one issue's execution fails; with a second issue it is an outage", async (name, _, rule, error) => {
  world[name].fault(rule);
  const lone = await open();
  expect(await ended(lone)).toMatchObject({ state: "failed", error: expect.stringContaining(error) });
  const other = await open();
  await waits(name === "model" ? "model" : "connection:alpha");
  world[name].clearFaults();
  expect(await ended(other)).toMatchObject({ state: "succeeded", error: null });
  expect((await world.service.post(`/api/tasks/${lone.id}/restart`)).status).toBe(200);
  expect(await ended(lone)).toMatchObject({ state: "succeeded", error: null });
  expect(textsOf(world.tracker, repo, lone.number)).toEqual([answer]);
});

test.each([
  ["model", { path: "chat", status: 401, times: 0 }, "LLM_API_KEY and restart the service"],
  ["tracker", { method: "POST", path: "comments", status: 401, times: 0 }, "credentials of alpha in the settings"],
] as const)("%s refuses the credential: from the second issue on, work waits until it is accepted", async (name, rule, cure) => {
  world[name].fault(rule);
  expect(await ended(await open())).toMatchObject({ state: "failed", error: expect.stringContaining("401") });
  const later = [await open(), await open()];
  expect((await waits(name === "model" ? "model" : "connection:alpha")).message).toContain(
    `Correct ${name === "model" ? "" : "the "}${cure}`,
  );
  world[name].clearFaults();
  for (const one of later) expect(await ended(one)).toMatchObject({ state: "succeeded", error: null });
});

test("a proxy that refuses the model of one agent stops no other work", async () => {
  const { service, model } = world;
  model.answerWith({ when: "Task: refused", reply: { status: 401 }, times: 1_000 });
  const agent = { id: "refused", name: "Refused", role_id: "dev", prompt: "p", model: "denied" };
  const task = { id: "refused", name: "refused", description: "Do it.", actor_id: "refused" };
  expect((await service.post("/api/agents", agent)).status).toBe(201);
  expect((await service.post("/api/tasks", task)).status).toBe(201);
  const trigger = { canonical_trigger: "issue.created", task_id: "refused" };
  const { body } = await service.post<{ id: number }>("/api/tasks/triggers", trigger);
  for (const { event_id } of await Promise.all(Array.from({ length: 12 }, open)))
    for (const one of await waitForExecutions(service, { event_id, count: 2 }))
      expect([one.task_id, one.state]).toEqual([one.task_id, one.task_id === "first" ? "succeeded" : "failed"]);
  expect((await check("model"))?.state).toBe("ok");
  expect((await service.del(`/api/tasks/triggers/${body.id}`)).status).toBe(204);
});

test("new credentials of an integration are tried at once", async () => {
  const { service, tracker } = world;
  const agent_id = (await service.get<{ actor_id: string }>("/api/tasks/first")).body.actor_id;
  const credentials = { token, api_url: tracker.url };
  const stored = { source: "alpha", name: "Customer", credentials, agent_id };
  const { id } = (await service.post<{ id: string }>("/api/integrations", stored)).body;
  tracker.fault({ method: "POST", path: "comments", status: 503, retryAfter: 3000, times: 0 });
  const one = await open();
  expect((await waits(`connection:Customer (${id})`)).message).toContain("503");
  tracker.clearFaults();
  expect((await service.put(`/api/integrations/${id}`, { credentials })).status).toBe(200);
  expect(await ended(one)).toMatchObject({ state: "succeeded", error: null });
  expect((await service.del(`/api/integrations/${id}`)).status).toBe(204);
});

test("failures on one issue use up its attempts; a refusal fails immediately", async () => {
  const { model, tracker } = world;
  const bad = last + 1;
  const fault = tracker.fault({ method: "POST", path: `/issues/${bad}/comments`, status: 500, times: 0 });
  const poison = await open();
  await eventually(() => fault.applied > 0);
  expect(await ended(await open())).toMatchObject({ state: "succeeded" });
  expect(await ended(poison)).toMatchObject({ state: "failed", error: expect.stringContaining("500") });
  model.answerWith({ when: `#${last + 1}\\.`, reply: { status: 401 } });
  expect(await ended(await open())).toMatchObject({ state: "failed", error: expect.stringContaining("401") });
  await eventually(async () => expect(await check("connection:alpha")).toMatchObject({ state: "ok" }) ?? true);
});
