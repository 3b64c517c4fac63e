import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, issueOf, plainScript, startWorld, taskOf, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
let world: World;
let script: Script = plainScript;

beforeAll(async () => {
  world = await startWorld({ tasks: ["first"], script: (request, number) => script(request, number) });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const open = async (number: number) => {
  const { status, body } = await world.service.webhook(issueOpened({ repo, number }));
  expect(status).toBe(202);
  return { event_id: body.event_id, id: body.executions?.[0]?.id ?? "" };
};
const ended = async ({ event_id }: { event_id: string }) => (await waitForExecutions(world.service, { event_id }))[0];
const chatsAbout = (number: number): ChatRequest[] =>
  world.model.chats().filter((request) => issueOf(request) === `${repo}#${number}`);
const systemOf = (request: ChatRequest | undefined) => request?.messages.find(({ role }) => role === "system")?.content;

interface Step {
  readonly kind: string;
  readonly state: string;
  readonly name: string | null;
  readonly input: unknown;
  readonly output: unknown;
}
const transcriptOf = async (id: string) =>
  (await world.service.get<{ transcript: Step[] }>(`/api/task-executions/${id}`)).body.transcript;

test("every request carries the schemas of the tools", async () => {
  await ended(await open(1));
  const [request] = chatsAbout(1);
  const offered = request?.tools?.map(({ function: { name } }) => name).sort();
  expect(offered).toEqual(["add_comment", "create_label", "get_issue", "update_description"].map((name) => `alpha__${name}`));
  const comment = request?.tools?.find(({ function: { name } }) => name === "alpha__add_comment");
  expect(comment?.function.parameters).toMatchObject({
    type: "object",
    required: ["issue", "body"],
    properties: { project: {} },
  });
});

test("the prompt holds the agent's persona, and the event as fenced data", async () => {
  const put = await world.service.put("/api/agents/pm_default", {
    context: "CONTEXT",
    identity: "IDENTITY",
    constraints: ["RULE"],
  });
  expect(put.status).toBe(200);
  await ended(await open(2));
  const [request] = chatsAbout(2);
  expect(systemOf(request)).toMatch(/^CONTEXT\n\nIDENTITY\n\nYou are the product manager[\s\S]*- RULE/);
  expect(request?.messages.at(-1)?.content).toMatch(/<(event-[0-9a-f]+)>\n[\s\S]*Login fails[\s\S]*\n<\/\1>$/);
});

test.each([
  { number: 61, title: "a text that is stored compressed", body: "Die Summe ist falsch: 1 € zu viel 🙈. ".repeat(300).trim() },
  { number: 62, title: "a text that is too long for that", body: "東京のサーバー。".repeat(5_000) },
])("the model reads the whole text of an issue: $title", async ({ number, title, body }) => {
  const sent = await world.service.webhook(issueOpened({ repo, number, title, body }));
  const execution = await ended(sent.body);
  const [request] = chatsAbout(number);
  expect(request?.messages.at(-1)?.content).toContain(body);
  const transcript = await transcriptOf(execution?.id ?? "");
  expect(transcript[0]?.input).toMatchObject({ messages: [{}, { content: expect.stringContaining(body) }] });
  const event = await world.service.get<{ payload: { issue: { body: string } } }>(`/api/webhook-events/${sent.body.event_id}`);
  expect(event.body.payload.issue.body).toBe(body);
});

test("executions on one issue run one after the other, on different issues at the same time", async () => {
  const running = new Map<string, number>();
  let most = 0;
  let mostOnOne = 0;
  script = async (request) => {
    const issue = issueOf(request);
    running.set(issue, (running.get(issue) ?? 0) + 1);
    mostOnOne = Math.max(mostOnOne, running.get(issue) ?? 0);
    most = Math.max(
      most,
      [...running.values()].reduce((sum, one) => sum + one, 0),
    );
    // Until three run at the same time, or the time limit shows that they do not.
    await eventually(() => most > 2, { interval: 5, timeout: 5_000 }).catch(() => {});
    running.set(issue, (running.get(issue) ?? 0) - 1);
    return { content: `Answer of ${taskOf(request)}` };
  };
  const events = await Promise.all([10, 10, 10, 11, 12, 13].map(open));
  for (const event of events) expect(await ended(event)).toMatchObject({ state: "succeeded" });
  script = plainScript;
  expect(mostOnOne).toBe(1);
  expect(most).toBeGreaterThan(2);
  expect(world.tracker.comments(repo, 10)).toHaveLength(3);
});

test("SIGTERM finishes a post under way and exits with 0; the next process runs what waits", async () => {
  const fault = world.tracker.fault({ method: "POST", path: "/issues/30/comments", hold: true });
  const [first, second] = [await open(30), await open(30)];
  await eventually(() => fault.applied === 1);
  const logged = world.service.logs().length;
  const stopped = world.service.stop();
  await eventually(() => world.service.logs().slice(logged).includes("waiting for executions to finish their writes"));
  world.tracker.clearFaults();
  expect(await stopped).toEqual({ code: 0, signal: null });
  expect(textsOf(world.tracker, repo, 30)).toEqual(["Answer of first"]);
  await world.service.restart();
  expect(await ended(first)).toMatchObject({ state: "succeeded", attempts: 1 });
  // A claim in flight when the stop begins still counts as an attempt.
  expect(await ended(second)).toMatchObject({ state: "succeeded" });
  expect(world.tracker.comments(repo, 30)).toHaveLength(2);
});

test("SIGTERM does not wait for the model: the next process asks it again", async () => {
  script = () => new Promise(() => {});
  const execution = await open(31);
  await eventually(() => chatsAbout(31).length === 1);
  expect(await world.service.stop()).toEqual({ code: 0, signal: null });
  script = plainScript;
  await world.service.restart();
  expect(await ended(execution)).toMatchObject({ state: "succeeded", attempts: 2 });
  expect(textsOf(world.tracker, repo, 31)).toEqual(["Answer of first"]);
});

test("without the agent the task's fallback prompt runs it; without one it fails and says so", async () => {
  const put = await world.service.put("/api/tasks/first", { actor_id: "nobody", actor_fallback: "You are the fallback." });
  expect(put.status).toBe(200);
  const execution = await ended(await open(40));
  expect(execution).toMatchObject({ state: "succeeded", agent_id: null });
  expect(systemOf(chatsAbout(40)[0])).toBe("You are the fallback.");
  await world.service.put("/api/tasks/first", { actor_fallback: null });
  expect(await ended(await open(41))).toMatchObject({ state: "failed", error: expect.stringMatching(/nobody.*actor_fallback/) });
  await world.service.put("/api/tasks/first", { actor_id: "pm_default" });
});

test("LLM_MAX_TOOL_ROUNDS bounds the rounds; one more request, without tools, gives the answer", async () => {
  await world.service.restart({ LLM_MAX_TOOL_ROUNDS: "2" });
  script = (request) => (request.tools ? callOf("get_issue", request) : { content: "At last." });
  const execution = await ended(await open(50));
  script = plainScript;
  expect(execution).toMatchObject({ state: "succeeded", result: "At last.", tool_calls: 2 });
  expect(chatsAbout(50).map(({ tools }) => tools !== undefined)).toEqual([true, true, false]);
  expect(textsOf(world.tracker, repo, 50)).toEqual(["At last."]);
});

test("invalid tool calls are reported to the model, and the execution continues", async () => {
  const many = Array(5_001).fill(1);
  script = (request) =>
    request.messages.some(({ role }) => role === "tool")
      ? { content: "Done." }
      : {
          tool_calls: [
            { name: "alpha__add_comment", arguments: "{not json" },
            { name: "alpha__delete_everything", arguments: {} },
            { name: "alpha__add_comment", arguments: { issue: "51" } },
            { name: "alpha.get_issue", arguments: "" },
            { name: "alpha__get_issue", arguments: { list: many } },
          ],
        };
  const { id, event_id } = await open(51);
  expect(await ended({ event_id })).toMatchObject({ state: "succeeded", result: "Done." });
  script = plainScript;
  const told = chatsAbout(51)[1]
    ?.messages.filter(({ role }) => role === "tool")
    .map(({ content }) => String(content));
  expect(told).toEqual([
    expect.stringMatching(/not valid JSON/),
    expect.stringMatching(/no function/),
    expect.stringMatching(/body/),
    expect.stringMatching(/no function/),
    expect.stringMatching(/send less in one call/),
  ]);
  // APIs refuse requests with calls of other names, or without a JSON object as arguments.
  const repeated = chatsAbout(51)[1]?.messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function));
  expect(repeated).toEqual([
    { name: "alpha__add_comment", arguments: JSON.stringify({ invalid_arguments: "{not json" }) },
    { name: "alpha__delete_everything", arguments: "{}" },
    { name: "alpha__add_comment", arguments: JSON.stringify({ issue: "51" }) },
    { name: "alpha_get_issue", arguments: "{}" },
    { name: "alpha__get_issue", arguments: JSON.stringify({ invalid_arguments: JSON.stringify({ list: many }).slice(0, 500) }) },
  ]);
  expect((await transcriptOf(id)).filter(({ kind, state }) => kind === "tool" && state === "failed")).toHaveLength(5);
  expect(textsOf(world.tracker, repo, 51)).toEqual(["Done."]);
});

test("a finished transcript shows the texts that the database stores only once", async () => {
  script = () => ({ content: "The discount is applied twice: cart.ts, line 12.\n" });
  const { id = "", result } = (await ended(await open(40))) ?? {};
  script = plainScript;
  expect(result).toBe("The discount is applied twice: cart.ts, line 12.");
  const [prompt, answer, post] = await transcriptOf(id);
  expect(JSON.stringify(prompt?.input)).toContain("Login fails");
  expect(answer).toMatchObject({ kind: "model", output: { content: `${result}\n`, tool_calls: [] } });
  expect(post).toMatchObject({ kind: "post", state: "succeeded", input: { body: expect.stringContaining(String(result)) } });
  script = () => ({ content: "Nothing to do." });
  const plain = await ended(await open(41));
  script = plainScript;
  const steps = await transcriptOf(plain?.id ?? "");
  expect(steps[1]?.output).toEqual({ content: "Nothing to do.", tool_calls: [] });
  const { body = "" } = (steps[2]?.input ?? {}) as { body?: string };
  expect(body).toMatch(/^Nothing to do\./);
  expect(world.tracker.comments(repo, 41).map((comment) => comment.body)).toEqual([expect.stringContaining(body)]);
});

test("TRACKER_UPDATES_ENABLED=false is a dry run: no write reaches the tracker, and the transcript says so", async () => {
  await world.service.restart({ TRACKER_UPDATES_ENABLED: "false" });
  const before = world.tracker.requests.length;
  script = (request) =>
    request.messages.some(({ role }) => role === "tool")
      ? { content: "Done." }
      : {
          tool_calls: ["get_issue", "add_comment", "update_description", "create_label"].flatMap(
            (tool) => callOf(tool, request, { body: "x", description: "x", name: "x" }).tool_calls ?? [],
          ),
        };
  const { id, event_id } = await open(60);
  expect(await ended({ event_id })).toMatchObject({ state: "succeeded", result: "Done.", result_url: null });
  script = plainScript;
  expect((await transcriptOf(id)).filter(({ kind }) => kind === "tool" || kind === "post")).toMatchObject([
    { kind: "tool", name: "alpha.get_issue", state: "succeeded" },
    { kind: "tool", name: "alpha.add_comment", state: "dry_run" },
    { kind: "tool", name: "alpha.update_description", state: "dry_run" },
    { kind: "tool", name: "alpha.create_label", state: "dry_run" },
    { kind: "post", state: "dry_run", name: "alpha" },
  ]);
  expect(world.tracker.requests.slice(before).map(({ method }) => method)).not.toContain("POST");
  expect(world.tracker.requests.slice(before).map(({ method }) => method)).not.toContain("PATCH");
});
