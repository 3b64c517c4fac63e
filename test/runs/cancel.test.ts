import { afterAll, beforeAll, expect, test } from "vitest";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, issueOf, plainScript, roundsOf, startWorld, taskOf, textsOf, type World } from "../harness/world.ts";

/** Executions that are cancelled while the model works on them. */
const repo = "octo/app";
let world: World;
let script: Script = plainScript;

beforeAll(async () => {
  world = await startWorld({ tasks: ["first"], script: (request, number) => script(request, number) });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const open = async (number: number) => {
  const { body } = await world.service.webhook(issueOpened({ repo, number }));
  return { event_id: body.event_id, id: body.executions?.[0]?.id ?? "" };
};
const ended = async ({ event_id }: { event_id: string }) => (await waitForExecutions(world.service, { event_id }))[0];
const chatsAbout = (number: number) => world.model.chats().filter((request) => issueOf(request) === `${repo}#${number}`);

test("a running execution can be cancelled: nothing is posted, and its issue is free again", async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  script = async (request) => {
    await promise;
    return { content: `Answer of ${taskOf(request)}` };
  };
  const first = await open(20);
  await eventually(() => chatsAbout(20).length === 1);
  const cancelled = await world.service.post(`/api/task-executions/${first.id}/cancel`);
  expect(cancelled).toMatchObject({ status: 200, body: { id: first.id, state: "cancelled" } });
  script = plainScript;
  release();
  expect(await ended(first)).toMatchObject({ state: "cancelled" });
  expect((await world.service.post(`/api/task-executions/${first.id}/cancel`)).status).toBe(409);
  expect((await world.service.post(`/api/tasks/${first.id}/restart`)).status).toBe(409);
  expect(await ended(await open(20))).toMatchObject({ state: "succeeded" });
  expect(textsOf(world.tracker, repo, 20)).toEqual(["Answer of first"]);
});

test.each([
  { by: "an operator", number: 21, cancel: (id: string) => world.service.post(`/api/task-executions/${id}/cancel`) },
  {
    by: "an erasure",
    number: 22,
    cancel: () => world.service.post("/api/erase", { subject: `alpha:${repo}#22`, dry_run: false }),
  },
])("an execution that $by cancels keeps the tokens and the tool calls of its steps", async ({ number, cancel }) => {
  script = (request) =>
    roundsOf(request) > 0
      ? new Promise(() => {})
      : { ...callOf("get_issue", request), usage: { prompt_tokens: 60, completion_tokens: 40 } };
  const { id } = await open(number);
  await eventually(() => chatsAbout(number).length === 2);
  expect((await cancel(id)).status).toBe(200);
  script = plainScript;
  const { body } = await world.service.get(`/api/task-executions/${id}`);
  expect(body).toMatchObject({
    state: "cancelled",
    prompt_tokens: 60,
    completion_tokens: 40,
    tool_calls: 1,
    unpriced_tokens: 100,
  });
});
