import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;

interface Answer {
  readonly agent_id: string;
  readonly model: string;
  readonly content: string;
  readonly rounds: number;
  readonly tool_calls: { tool: string; status: string }[];
  readonly usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  readonly error: string;
}

let tracker: Tracker;
let model: Model;
let service: Service;
const say = (content: string) => [{ role: "user", content }];
const chat = (body: object, agent_id = "dev_default") =>
  service.post<Answer>("/api/llm/chat", { agent_id, messages: say("Hello"), ...body });

beforeAll(async () => {
  tracker = await startTracker({ token: "t0ken", autoCreate: true });
  model = await startModel({ script: () => ({ content: "From the script." }) });
  service = await startService({
    seed: true,
    env: {
      ALPHA_API_URL: tracker.url,
      ALPHA_TOKEN: "t0ken",
      LLM_BASE_URL: model.url,
      LLM_API_KEY: "x",
      LLM_MODEL: "m",
      LLM_MAX_TOOL_ROUNDS: "2",
    },
  });
}, limit);
afterAll(async () => {
  await service?.close();
  await Promise.all([tracker?.close(), model?.close()]);
});
beforeEach(() => {
  model.clearFaults();
  model.requests.length = 0;
});

test("answers as the agent, with its persona and the tools of configured providers", { timeout: limit }, async () => {
  await service.post("/api/tools", { provider: "open", name: "weather", endpoint: "http://127.0.0.1:2/x" });
  const messages = [
    { role: "system", content: "Be brief." },
    ...say("Hi"),
    { role: "assistant", content: "Hi." },
    ...say("Go on"),
  ];
  const { status, body } = await chat({ messages });
  expect(status).toBe(200);
  expect(body).toMatchObject({ agent_id: "dev_default", model: "m", content: "From the script.", rounds: 1, tool_calls: [] });
  expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens + body.usage.completion_tokens);
  expect(body.usage.prompt_tokens).toBeGreaterThan(0);
  const [sent] = model.chats();
  expect(sent?.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining("backend developer") });
  expect(sent?.messages.slice(1)).toEqual(messages);
  expect(sent?.tools?.map((tool) => tool.function.name)).toEqual(expect.arrayContaining(["alpha__add_comment", "open__weather"]));
});

test("calls tools, bounded, and records them", { timeout: limit }, async () => {
  const comment = { name: "alpha__add_comment", arguments: { project: "octo/app", issue: 1, body: "From a chat" } };
  model.answerWith({ reply: { tool_calls: [comment, { name: "no_such", arguments: {} }] } });
  model.answerWith({ reply: { tool_calls: [{ name: "alpha__get_issue", arguments: { issue: 1 } }] } });
  const { body } = await chat({});
  expect(body).toMatchObject({ rounds: 3, content: "From the script." });
  expect(body.tool_calls).toEqual([
    { tool: "alpha.add_comment", status: "succeeded" },
    { tool: "no_such", status: "failed" },
    { tool: "alpha.get_issue", status: "failed" },
  ]);
  expect(tracker.comments("octo/app", 1)).toHaveLength(1);
  expect(model.chats().at(-1)?.tools, "the last round is without tools").toBeUndefined();
  const { body: calls } = await service.get<{ tool: string; agent_id: string; prompt_tokens: number }[]>(
    "/api/tool-executions?agent_id=dev_default",
  );
  expect(calls.map((call) => call.tool)).toEqual(["alpha.get_issue", "no_such", "alpha.add_comment"]);
  expect(calls.every((call) => call.prompt_tokens > 0)).toBe(true);
});

test("offers exactly what the agent is allowed, and uses its model", { timeout: limit }, async () => {
  await service.put("/api/agents/qa_default", { allowed_tools: ["alpha.get_issue"], model: "other", temperature: 0.2 });
  const { body } = await chat({}, "qa_default");
  expect(body.model).toBe("other");
  const [sent] = model.chats();
  expect(sent?.tools?.map((tool) => tool.function.name)).toEqual(["alpha__get_issue"]);
  expect(sent?.temperature).toBe(0.2);
});

test.each([
  [{ messages: [] }, 400, /messages/],
  [{ messages: [{ role: "tool", content: "x" }] }, 400, /messages\[0\]\.role/],
  [{ messages: [{ role: "user" }] }, 400, /messages\[0\]\.content/],
  [{ messages: "x" }, 400, /messages/],
  [{ stream: "yes" }, 400, /stream/],
  [{ agent_id: "nobody" }, 404, /nobody/],
  [{ agent_id: "Not-A-Slug" }, 404, /Not-A-Slug/],
])("%j is refused with %i", { timeout: limit }, async (body, status, error) => {
  const answer = await chat(body);
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({ error: expect.stringMatching(error) });
});

test("a failing LLM is a 502, with its Retry-After", { timeout: limit }, async () => {
  model.fault({ path: "chat", status: 400, times: 1 });
  expect(await chat({})).toMatchObject({ status: 502, body: { error: expect.stringContaining("400") } });
  model.fault({ path: "chat", status: 429, retryAfter: 77, times: 1 });
  const limited = await chat({});
  expect(limited.status).toBe(502);
  expect(limited.headers.get("retry-after")).toBe("77");
  model.fault({ path: "chat", status: 500, times: 2 });
  expect(await chat({}), "a passing failure is tried again").toMatchObject({ status: 200 });
});

interface Heard {
  readonly event: string;
  readonly data: Partial<Answer> & { delta?: string; tool?: string };
}
async function* listen(body: object, signal?: AbortSignal): AsyncGenerator<Heard> {
  const response = await fetch(`${service.url}/api/llm/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent_id: "dev_default", messages: say("Hello"), stream: true, ...body }),
    ...(signal && { signal }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (event) yield { event, data: JSON.parse(data) };
    }
  }
}
async function all(body: object): Promise<Heard[]> {
  const heard: Heard[] = [];
  for await (const one of listen(body)) heard.push(one);
  return heard;
}

test("streams deltas, tool calls and the whole answer", { timeout: limit }, async () => {
  const content = "A longer answer, which the model writes in more than one piece.";
  model.answerWith({
    reply: { content: "Let me see. ", tool_calls: [{ name: "alpha__get_issue", arguments: { project: "octo/app", issue: 1 } }] },
  });
  model.answerWith({ reply: { content } });
  const heard = await all({});
  const deltas = heard.filter(({ event }) => event === "delta").map(({ data }) => data.delta);
  expect(deltas.length).toBeGreaterThan(2);
  expect(deltas.join("")).toBe(`Let me see. ${content}`);
  expect(heard.filter(({ event }) => event === "tool_call").map(({ data }) => data)).toEqual([
    { tool: "alpha.get_issue", status: "succeeded" },
  ]);
  expect(heard.at(-1)).toMatchObject({
    event: "answer",
    data: { content, rounds: 2, usage: { total_tokens: expect.any(Number) } },
  });
  expect(heard.at(-1)?.data.usage?.prompt_tokens).toBeGreaterThan(0);
  expect(model.chats()[0]).toMatchObject({ stream: true });
});

test("a failing stream ends with an error event; earlier errors have their status", {
  timeout: limit,
}, async () => {
  model.answerWith({
    reply: { content: "This answer is cut off in the middle of what it says, for it is long.", truncate: true },
  });
  const cut = await all({});
  expect(cut[0]?.event).toBe("delta");
  expect(cut.at(-1)).toMatchObject({ event: "error", data: { error: expect.stringMatching(/LLM/) } });
  expect(cut.filter(({ event }) => event === "answer")).toEqual([]);
  expect(model.chats(), "an answer that was begun is not asked for again").toHaveLength(1);
  model.fault({ path: "chat", status: 400, times: 1 });
  expect(await all({})).toEqual([{ event: "error", data: { error: expect.stringContaining("400") } }]);
  expect((await chat({ stream: true, agent_id: "nobody" })).status).toBe(404);
});

test("a client that disconnects cancels the request to the LLM", { timeout: limit }, async () => {
  for (const stream of [true, false]) {
    const before = service.logs().length;
    model.requests.length = 0;
    // The model does not answer before the client has disconnected.
    model.fault({ path: "chat", hold: true });
    const comment = { name: "alpha__add_comment", arguments: { project: "octo/app", issue: 2, body: "x" } };
    model.answerWith({ reply: { tool_calls: [comment] } });
    const gone = new AbortController();
    const asked = fetch(`${service.url}/api/llm/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent_id: "dev_default", messages: say("Hello"), stream }),
      signal: gone.signal,
    }).then((response) => response.text());
    await eventually(() => model.chats().length === 1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await sleep(1_500);
    model.clearFaults();
    await sleep(1_000);
    expect(model.chats(), "no further round").toHaveLength(1);
    expect(tracker.comments("octo/app", 2), "and no tool call").toEqual([]);
    expect(service.logs().slice(before)).not.toMatch(/"level":"error"/);
  }
});

test("without an LLM it is a 503 that names the setting", { timeout: limit }, async () => {
  await using other = await startService({ seed: true });
  const ask = (agent_id: string) => other.post("/api/llm/chat", { agent_id, messages: say("Hello") });
  expect(await ask("dev_default")).toMatchObject({ status: 503, body: { error: expect.stringContaining("LLM_BASE_URL") } });
  expect(await ask("nobody")).toMatchObject({ status: 404 });
});
