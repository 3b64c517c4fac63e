import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatRequest, Reply } from "../../examples/demo/chat.ts";
import type { FaultRule } from "../../examples/demo/faults.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { commentingScript, issueOf, plainScript, startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
const answer = "Answer of first";
const note = "Note of first";
const key = "sk-of-ours";
let world: World;

beforeAll(async () => {
  const uses = (request: ChatRequest) => JSON.stringify(request.messages).includes("with a tool");
  world = await startWorld({
    tasks: ["first"],
    // Only a model that does not answer may reach it, also if the machine stops for some seconds.
    env: { LLM_TIMEOUT_SECONDS: "10", LLM_API_KEY: key },
    script: (request, number) => (uses(request) ? commentingScript : plainScript)(request, number),
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

let lastIssue = 0;
const freshIssue = () => ++lastIssue;
const open = async (number: number, title = "plain") => {
  const { status, body } = await world.service.webhook(issueOpened({ repo, number, title }));
  expect(status).toBe(202);
  const [execution] = body.executions ?? [];
  return { event_id: body.event_id, id: execution?.id ?? "" };
};
const ended = async ({ event_id }: { event_id: string }) => (await waitForExecutions(world.service, { event_id }))[0];
const chatsAbout = (number: number) => world.model.chats().filter((request) => issueOf(request) === `${repo}#${number}`);
const onIssue = (number: number) => `#${number}\\.`;

interface Step {
  readonly kind: string;
  readonly state: string;
  readonly error: string | null;
  readonly name: string | null;
}
const transcriptOf = async (id: string) =>
  (await world.service.get<{ transcript: Step[] }>(`/api/task-executions/${id}`)).body.transcript;

describe("a model that fails for a while", () => {
  test.concurrent.each<[string, Reply]>([
    ["429 with Retry-After", { status: 429, headers: { "retry-after": "2" } }],
    ["429 without", { status: 429 }],
    ["500", { status: 500 }],
    ["503", { status: 503 }],
    ["an answer that is not JSON", { rubbish: true }],
    ["an answer that is cut off", { content: "x".repeat(2000), truncate: true }],
    ["an answer without choices", { raw: { id: "1", object: "chat.completion" } }],
    ["an answer with no choice", { raw: { choices: [] } }],
    ["an answer that is null", { raw: null }],
    ["no answer", { hang: true }],
  ])("%s: the request is repeated, and the answer is posted once", async (name, reply) => {
    const number = freshIssue();
    world.model.answerWith({ when: onIssue(number), reply, times: 2 });
    const began = performance.now();
    const execution = await open(number);
    expect(await ended(execution)).toMatchObject({ state: "succeeded", attempts: 1, error: null, result: answer });
    expect(chatsAbout(number)).toHaveLength(3);
    expect(textsOf(world.tracker, repo, number)).toEqual([answer]);
    if (name.includes("with Retry-After")) expect(performance.now() - began).toBeGreaterThan(4_000);
  });

  test.concurrent("a broken connection: the request is repeated, and the answer is posted once", async () => {
    const number = freshIssue();
    const fault = world.model.fault({ body: onIssue(number), how: "destroy", times: 2 });
    expect(await ended(await open(number))).toMatchObject({ state: "succeeded", attempts: 1, error: null, result: answer });
    expect(fault.applied).toBe(2);
  });

  test.concurrent("for longer than one attempt: the execution is retried later", async () => {
    const number = freshIssue();
    world.model.answerWith({ when: onIssue(number), reply: { status: 502 }, times: 4 });
    const execution = await open(number);
    expect(await ended(execution)).toMatchObject({ state: "succeeded", attempts: 2, error: null });
    expect(textsOf(world.tracker, repo, number)).toEqual([answer]);
  });
});

describe("a model that refuses", () => {
  test.concurrent.each([400, 401, 404])("%i: fails with the reason; a restart resumes after the last step", async (status) => {
    const number = freshIssue();
    // The script answers the first round; the requests after the tool's result are refused.
    world.model.answerWith({ when: `${onIssue(number)}[^]*issuecomment`, reply: { status } });
    const execution = await open(number, "with a tool");
    expect(await ended(execution)).toMatchObject({ state: "failed", error: expect.stringContaining(`answered ${status}`) });
    expect(textsOf(world.tracker, repo, number)).toEqual([note]);

    // Of several requests at once, one restarts it; the others get the state that it has since then.
    const restart = () => world.service.post<{ error: string }>(`/api/tasks/${execution.id}/restart`);
    const answers = await Promise.all(Array.from({ length: 6 }, restart));
    const [restarted, ...refused] = answers.sort((a, b) => a.status - b.status);
    expect(restarted).toMatchObject({ status: 200, body: { id: execution.id, state: "queued", error: null } });
    expect(refused.filter(({ status, body }) => status !== 409 || body.error.includes("has the state failed;"))).toEqual([]);
    expect(await ended(execution)).toMatchObject({ state: "succeeded", error: null });
    expect(textsOf(world.tracker, repo, number)).toEqual([answer, note]);
    const steps = await transcriptOf(execution.id);
    expect(steps.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
      "prompt succeeded",
      "model succeeded",
      "tool succeeded",
      "model succeeded",
      "post succeeded",
    ]);
    expect((await world.service.post(`/api/tasks/${execution.id}/restart`)).status).toBe(409);
  });
});

test("a proxy that repeats the key in its refusal: the reason does not contain it", async () => {
  const number = freshIssue();
  world.model.answerWith({ when: onIssue(number), reply: { status: 400, content: `unknown key ${key}!` } });
  expect(await ended(await open(number))).toMatchObject({
    state: "failed",
    error: "The LLM answered 400: unknown key ********!",
  });
});

test("a key that is only a placeholder is not removed from errors", async () => {
  await using local = await startWorld({ tasks: ["first"], env: { LLM_API_KEY: "ollama" } });
  local.model.answerWith({ reply: { status: 404, content: 'model "gpt-9" not found, try `ollama pull`' } });
  const { body } = await local.service.webhook(issueOpened({ repo, number: 1 }));
  expect((await waitForExecutions(local.service, { event_id: body.event_id }))[0]).toMatchObject({
    state: "failed",
    error: 'The LLM answered 404: model "gpt-9" not found, try `ollama pull`',
  });
});

test.each([
  [{ error: { message: `no capacity, key ${key}`, code: 529 } }, "The LLM answered with an error: no capacity, key ********"],
  [{ error: "no capacity" }, "The LLM answered with an error: no capacity"],
  [
    `<html>\n  <title>Log in with ${key}</title>`,
    "The LLM answered with text instead of JSON; check LLM_BASE_URL: <html> <title>Log in with ********</title>",
  ],
  [{ choices: [] }, "The LLM's answer has no message in its choices."],
])("200 with %j instead of an answer: the reason names the error", async (raw, error) => {
  const chat = { agent_id: "pm_default", messages: [{ role: "user", content: `Hi ${freshIssue()}` }] };
  world.model.answerWith({ when: chat.messages[0]?.content ?? "", reply: { raw }, times: 3 });
  expect(await world.service.post("/api/llm/chat", chat)).toMatchObject({ status: 502, body: { error } });
});

test("an answer with more than 100 tool calls: asked once, its usage counts, and none of them is carried out", async () => {
  const number = freshIssue();
  const call = { name: "alpha__add_comment", arguments: { issue: `${repo}#${number}`, body: "one of many" } };
  const usage = { prompt_tokens: 70, completion_tokens: 30 };
  world.model.answerWith({ when: onIssue(number), reply: { tool_calls: Array(101).fill(call), usage } });
  const execution = await open(number, "with a tool");
  const error = "The LLM's answer has more than 100 tool calls.";
  expect(await ended(execution)).toMatchObject({
    state: "failed",
    error,
    prompt_tokens: 70,
    completion_tokens: 30,
    tool_calls: 0,
  });
  expect(chatsAbout(number)).toHaveLength(1);
  expect(await transcriptOf(execution.id)).toMatchObject([
    { kind: "prompt" },
    { kind: "model", state: "failed", error, prompt_tokens: 70, completion_tokens: 30 },
  ]);
  expect(textsOf(world.tracker, repo, number)).toEqual([]);
  // A restart asks again.
  expect((await world.service.post(`/api/tasks/${execution.id}/restart`)).status).toBe(200);
  const [again] = await waitForExecutions(world.service, { event_id: execution.event_id, state: "succeeded" });
  expect((again as { prompt_tokens?: number } | undefined)?.prompt_tokens).toBeGreaterThan(70);
  expect(textsOf(world.tracker, repo, number)).toEqual([answer, note]);
});

describe("a tracker that fails for a while", () => {
  test.concurrent.each<[string, FaultRule]>([
    ["429 with Retry-After", { status: 429, retryAfter: 1, times: 2 }],
    ["a secondary limit", { how: "limit", retryAfter: 1 }],
    ["500", { status: 500, times: 2 }],
    ["502 after the write", { status: 502, after: true }],
    ["a broken connection", { how: "destroy" }],
    ["a broken connection after the write", { how: "destroy", after: true }],
    ["an answer that is cut off", { how: "truncate" }],
    ["an answer that is not its own", { how: "rubbish" }],
    ["a redirection to another host", { status: 302, headers: { location: "https://login.example/start" } }],
  ])("%s: one comment by the tool, one with the answer", async (_, rule) => {
    const number = freshIssue();
    const fault = world.tracker.fault({ method: "POST", path: `/issues/${number}/comments`, ...rule });
    const execution = await open(number, "with a tool");
    expect(await ended(execution)).toMatchObject({ state: "succeeded", attempts: 1 });
    expect(fault.applied).toBe(rule.times ?? 1);
    expect(textsOf(world.tracker, repo, number)).toEqual([answer, note]);
  });

  test.concurrent("for longer than one attempt: the execution is retried, finished steps are not", async () => {
    const number = freshIssue();
    world.tracker.fault({ method: "POST", path: `/issues/${number}/comments`, nth: 2, times: 3, status: 500 });
    const execution = await open(number, "with a tool");
    expect(await ended(execution)).toMatchObject({ state: "succeeded", attempts: 2 });
    // A step that succeeded in the end has no error of an earlier attempt.
    expect((await transcriptOf(execution.id)).filter(({ error }) => error !== null)).toEqual([]);
    expect(chatsAbout(number)).toHaveLength(2);
    expect(textsOf(world.tracker, repo, number)).toEqual([answer, note]);
  });

  test.concurrent("a moved issue: the failure says where it is now, and other issues are answered", async () => {
    const [number, other] = [freshIssue(), freshIssue()];
    const comments = `/issues/${number}/comments`;
    const headers = { location: `${world.tracker.url}/repositories/5${comments}` };
    world.tracker.fault({ method: "POST", path: comments, times: 0, status: 307, headers });
    expect(await ended(await open(number))).toMatchObject({
      state: "failed",
      attempts: 1,
      error: expect.stringMatching(/answered 307 .*it redirects to .*\/repositories\/5\/issues/),
    });
    expect(await ended(await open(other))).toMatchObject({ state: "succeeded", attempts: 1 });
  });

  test.concurrent("a locked issue: the failure says what the tracker said", async () => {
    const number = freshIssue();
    world.tracker.createIssue({ repo, number, title: "Locked", locked: true });
    expect(await ended(await open(number))).toMatchObject({ state: "failed", error: expect.stringMatching(/403.*locked/i) });
  });
});
