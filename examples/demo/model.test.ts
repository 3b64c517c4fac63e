import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { demoScript, signature } from "./demo-script.ts";
import { embed } from "./embeddings.ts";
import { type Model, startModel } from "./model.ts";

let model: Model;
let client: OpenAI;
beforeEach(async () => {
  model = await startModel({ apiKey: "k" });
  client = new OpenAI({ baseURL: model.url, apiKey: "k", maxRetries: 0, timeout: 30_000 });
});
afterEach(() => model.close());

const tools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "alpha__get_issue", parameters: { type: "object", properties: {} } } },
];
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: "You are a product manager. Task: triage_initial_intent" },
  { role: "user", content: "issue.created at octo/app#12\nTitle: Login fails" },
];

describe("the demonstration script", () => {
  test("reads the issue first, then comments on its title and says who wrote it", async () => {
    const first = await client.chat.completions.create({ model: "m", messages, tools });
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    const call = first.choices[0]?.message.tool_calls?.[0];
    if (call?.type !== "function") throw new Error("no call");
    expect([call.function.name, JSON.parse(call.function.arguments)]).toEqual(["alpha__get_issue", { issue: "12" }]);
    expect(first.usage?.total_tokens).toBe((first.usage?.prompt_tokens ?? 0) + (first.usage?.completion_tokens ?? 0));

    const result = {
      role: "tool",
      tool_call_id: call.id,
      content: '{"number":12,"title":"Login \\"fails\\" on Mondays"}',
    } as const;
    const second = await client.chat.completions.create({
      model: "m",
      tools,
      messages: [...messages, first.choices[0]?.message as OpenAI.ChatCompletionMessage, result],
    });
    expect(second.choices[0]?.message.content).toContain(
      '### Triage\n\n- **Request:** the reporter wants “Login "fails" on Mondays”',
    );
    expect(second.choices[0]?.message.content).toContain(signature);
  });

  test.each([
    ["triage_initial_intent", "Triage"],
    ["Task: Triage: initial intent\nUnderstand what the issue asks for.", "Triage"],
    ["Task: Technical discovery\nJudge the technical feasibility of the issue.", "Technical review"],
    ["Task: Interpretation of intent\nClarify the requirements.", "Acceptance criteria"],
    ["Task: Technical grooming\nPrepare the issue for implementation", "Ready for development"],
    ["Task: Development environment\nSay what a development environment needs.", "Environment"],
    ["Task: Implementation\nWrite the code that the issue asks for.", "Implementation"],
    ["Task: Code quality audit\nReview the quality of the change.", "Code review"],
    ["Task: Quality verification\nPlan and judge the testing of the change.", "Quality check"],
    ["Task: Customer acceptance\nWrite what the customer should know.", "For the reporter"],
    ["something else", "Note"],
  ])("recognises %j", (task, heading) => {
    const system = task.startsWith("Task") ? "You judge feasibility and code quality." : task;
    const user = `${task.startsWith("Task") ? task : ""}\n\n# Issue #12: X`;
    const reply = demoScript({
      model: "m",
      messages: [
        { role: "system", content: system },
        { role: "user", content: user },
      ],
    });
    expect(reply.content).toContain(`### ${heading}\n`);
    expect(reply.content).toContain("“X”");
  });
});

describe("the API", () => {
  test("streams content, tool calls and usage", async () => {
    model.answerWith({
      reply: {
        content: "Grüße aus der Werkstatt, lang genug für mehrere Stücke.",
        tool_calls: [{ name: "t", arguments: { a: 1 } }],
      },
    });
    const stream = client.chat.completions.stream({ model: "m", messages, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toContain("lang genug für mehrere Stücke.");
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: "t", arguments: '{"a":1}' } });
    expect(final.usage?.total_tokens).toBeGreaterThan(5);
  });

  test("lists models, and refuses a wrong key, a path and a body", async () => {
    expect((await client.models.list()).data.map(({ id }) => id)).toContain("scripted-demonstration-model");
    await expect(client.withOptions({ apiKey: "x" }).models.list()).rejects.toMatchObject({ status: 401 });
    const post = (path: string, body: string) =>
      fetch(model.url + path, { method: "POST", body, headers: { authorization: "Bearer k" } });
    expect((await post("/none", '{"model":"m"}')).status).toBe(404);
    expect((await post("/chat/completions", "{")).status).toBe(400);
    expect((await post("/chat/completions", '{"model":"m","messages":[]}')).status).toBe(400);
  });

  test("gives equal texts equal vectors, and similar texts similar ones", async () => {
    const { data, usage } = await client.embeddings.create({
      model: "e",
      dimensions: 256,
      input: ["login fails on Monday", "the login failed", "invoice layout"],
    });
    const [a, b, c] = data.map(({ embedding }) => embedding) as [number[], number[], number[]];
    const dot = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
    expect([a.length, usage.prompt_tokens > 0]).toEqual([256, true]);
    expect(dot(a, a)).toBeCloseTo(1, 4);
    expect(dot(a, b)).toBeGreaterThan(dot(a, c) + 0.2);
    const plain = await client.embeddings.create({ model: "e", input: "login fails on Monday", encoding_format: "float" });
    expect(plain.data[0]?.embedding).toHaveLength(1536);
    expect([...embed("login fails on Monday", 256)]).toEqual([...a]);
    await expect(client.embeddings.create({ model: "e", input: "" })).rejects.toMatchObject({ status: 400 });
  });
});

describe("misbehaviour", () => {
  const ask = () => client.chat.completions.create({ model: "m", messages });

  test("canned replies answer the requests that they match, as often as configured", async () => {
    model.answerWith({ when: "never said", reply: { content: "wrong" } });
    model.answerWith({ when: "login fails", reply: { status: 429, headers: { "retry-after": "3" } }, times: 2 });
    const refused = await ask().catch((error: InstanceType<typeof OpenAI.RateLimitError>) => error);
    expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await expect(ask()).rejects.toMatchObject({ status: 429 });
    expect((await ask()).choices[0]?.message.content).toContain("Triage");
    expect(model.chats()).toHaveLength(3);
  });

  test("hangs, truncates and answers rubbish", async () => {
    model.answerWith({ reply: { hang: true } });
    const leaving = new AbortController();
    const hung = client.chat.completions.create({ model: "m", messages }, { signal: leaving.signal });
    await vi.waitFor(() => expect(model.chats()).toHaveLength(1), { timeout: 30_000 });
    await sleep(150);
    leaving.abort();
    await expect(hung).rejects.toThrow(/aborted/);
    model.answerWith({ reply: { content: "x".repeat(500), truncate: true } });
    await expect(ask()).rejects.toThrow();
    model.answerWith({ reply: { rubbish: true } });
    await expect(ask().then((answer) => answer.choices[0]?.message)).rejects.toThrow();
    model.answerWith({ reply: { content: "x".repeat(500), truncate: true } });
    const cut = client.chat.completions.stream({ model: "m", messages });
    await expect(cut.finalChatCompletion()).rejects.toThrow();
  });

  test("is controlled over HTTP, including faults and delays", async () => {
    const control = (method: string, path: string, body?: unknown) =>
      fetch(model.url.replace(/v1$/, "_control/") + path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    expect((await control("POST", "replies", { reply: { content: "from outside" } })).status).toBe(201);
    expect((await ask()).choices[0]?.message.content).toBe("from outside");
    await control("POST", "faults", { path: "chat", status: 503 });
    await expect(ask()).rejects.toMatchObject({ status: 503 });
    await control("PUT", "delay", { ms: 120 });
    const start = performance.now();
    await ask();
    expect(performance.now() - start).toBeGreaterThan(110);
    expect(await (await control("GET", "requests")).json()).toHaveLength(3);
    expect((await control("POST", "replies", { when: "(", reply: {} })).status).toBe(400);
  });
});
