import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Reply } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { deliver } from "../harness/webhooks.ts";
import { callOf, roundsOf, startWorld, textsOf, type World, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
let world: World;
/** Resolves when the model may answer. */
let mayAnswer = Promise.withResolvers<void>();
let issue = 0;

beforeAll(async () => {
  world = await startWorld({
    tasks: ["first"],
    // Two comments by a tool, each in its own round, and then an answer.
    script: async (request): Promise<Reply> => {
      await mayAnswer.promise;
      const round = roundsOf(request);
      return round < 2 ? callOf("add_comment", request, { body: `Note ${round + 1}` }) : { content: "Answer" };
    },
  });
}, 180_000);
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await setPolicy({});
  mayAnswer = Promise.withResolvers();
});

const setPolicy = async (policy: object) =>
  expect((await world.service.put("/api/agents/pm_default", { policy })).status).toBe(200);

/** Opens an issue whose run waits for the model's first answer when the policy changes. */
async function changeDuringRun(policy: object, state: "succeeded" | "waiting") {
  const number = ++issue;
  const requests = world.model.chats().length;
  const payload = issueOpened({ repo, number }, { issue: { author_association: "MEMBER" } });
  const { body } = await deliver(world.service, payload, { secret: webhookSecret });
  await eventually(() => world.model.chats().length > requests);
  await setPolicy(policy);
  mayAnswer.resolve();
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, state });
  return { error: execution?.error, texts: textsOf(world.tracker, repo, number).map((text) => text.split("\n")[0]) };
}

test("a run whose policy requires approval from now on proposes what it has not written yet", async () => {
  expect(await changeDuringRun({ staged: true }, "waiting")).toEqual({ error: null, texts: [] });
});

test("a run whose author may no longer write calls no tools that write", async () => {
  expect(await changeDuringRun({ write_min_standing: "owner" }, "succeeded")).toEqual({ error: null, texts: ["Answer"] });
});

test("a lower budget ends a run that exceeds it", async () => {
  expect(await changeDuringRun({ run_writes: 1 }, "succeeded")).toEqual({ error: null, texts: ["Answer", "Note 1"] });
});

test("proposals count as writes, so a run proposes no more than it may write", async () => {
  expect(await changeDuringRun({ staged: true, run_writes: 1 }, "waiting")).toEqual({ error: null, texts: [] });
  const { body: found } = await world.service.get<{ id: string }[]>(`/api/task-executions?subject=${repo}%23${issue}`);
  const { body } = await world.service.get<{
    result: string;
    proposals: { kind: string; parameters: { body: string } | null }[];
  }>(`/api/task-executions/${found[0]?.id}`);
  expect(body.result).toMatch(/^Answer.*cut short.*1 write \(run_writes in the policy of the agent\)/s);
  expect(body.proposals.map(({ kind, parameters }) => [kind, parameters?.body])).toEqual([
    ["tool", "Note 1"],
    ["comment", undefined],
  ]);
});
