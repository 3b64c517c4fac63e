import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Reply } from "../../examples/demo/chat.ts";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { issueOf, plainScript, roundsOf, startWorld, textsOf, type World } from "../harness/world.ts";

/* Texts of a model with characters that PostgreSQL cannot store: NUL, and half of a surrogate pair. */

const repo = "octo/app";
let world: World;
/** What the model answers to the first request about an issue. */
const firstReplies = new Map<string, Reply>();

beforeAll(async () => {
  const script: Script = (request, number) =>
    (roundsOf(request) === 0 && firstReplies.get(issueOf(request))) || plainScript(request, number);
  world = await startWorld({ tasks: ["first"], env: { EXECUTION_RETRY_LIMIT: "0" }, script });
});
afterAll(() => world?.[Symbol.asyncDispose]());

let lastIssue = 0;
/** Opens an issue to which the model gives this first reply; its execution when it has ended. */
async function runWith(reply: Reply) {
  const number = ++lastIssue;
  firstReplies.set(`${repo}#${number}`, reply);
  const { status, body } = await world.service.webhook(issueOpened({ repo, number, title: "plain" }));
  expect(status).toBe(202);
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
  return { number, execution };
}

describe("arguments of a tool call", () => {
  test.concurrent.each([
    ["NUL", String.raw`\u0000`],
    ["half of a surrogate pair", String.raw`\ud800`],
  ])("%s: the call names another issue, which is refused, and the run answers", async (_, character) => {
    const { number, execution } = await runWith({
      tool_calls: [{ name: "alpha__get_issue", arguments: `{"issue": "7${character}"}` }],
    });
    expect(execution).toMatchObject({ state: "succeeded", error: null });
    expect(textsOf(world.tracker, repo, number)).toEqual(["Answer of first"]);
    const { body } = await world.service.get<{ transcript: { kind: string }[] }>(`/api/task-executions/${execution?.id}`);
    const called = body.transcript.filter(({ kind }) => kind === "tool");
    expect(called).toMatchObject([{ state: "failed", input: { issue: "7\uFFFD" } }]);
  });
});

test("in a chat, such arguments are not an error of the service", async () => {
  const reply: Reply = { tool_calls: [{ name: "alpha__get_issue", arguments: String.raw`{"issue": "${repo}#1\u0000"}` }] };
  world.model.answerWith({ when: "a question", reply, times: 1 });
  const messages = [{ role: "user", content: "a question" }];
  const { status, body } = await world.service.post("/api/llm/chat", { agent_id: "pm_default", messages });
  expect([status, body]).toEqual([200, expect.objectContaining({ tool_calls: [{ tool: "alpha.get_issue", status: "failed" }] })]);
});

describe("an error of the model", () => {
  test.concurrent.each([
    ["with NUL", "unexpected \0 in the request"],
    ["that is cut within an emoji", `${"x".repeat(199)}\u{1F600}`],
  ])("%s: the execution fails with it", async (_, message) => {
    const { execution } = await runWith({ raw: { error: { message } } });
    expect(execution).toMatchObject({
      state: "failed",
      error: expect.stringMatching(/^The LLM answered with an error: .*\uFFFD/),
    });
  });
});
