import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueCommented, issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, plainScript, startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
/** How long a run takes before it is shown, in milliseconds. */
const quietMs = 3_000;
let world: World;
let issue = 0;
/** The model answers about an issue once its promise resolves. */
const thinking = new Map<string, Promise<void>>();
const script = async (request: ChatRequest, number: number) => {
  await thinking.get(issueOf(request));
  return plainScript(request, number);
};

beforeAll(async () => {
  world = await startWorld({ tasks: ["first"], env: { EXECUTION_RETRY_LIMIT: "0" }, script });
  const trigger = { canonical_trigger: "issue.commented", task_id: "first" };
  expect((await world.service.post("/api/tasks/triggers", trigger)).status).toBeLessThan(300);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const policy = async (policy: object) => expect((await world.service.put("/api/agents/pm_default", { policy })).status).toBe(200);
/** The model starts to work on the next issue; the returned function makes it answer. */
const think = (number = ++issue) => {
  let answer = () => {};
  thinking.set(`${repo}#${number}`, new Promise<void>((done) => (answer = done)));
  return { number, answer };
};
const open = async (number: number) => (await world.service.webhook(issueOpened({ repo, number }))).body.event_id;
/** Requests for reactions so far, on all issues or on one. */
const reactionRequests = (on = "") => world.tracker.requests.filter(({ path }) => path.includes(`${on}/reactions`)).length;
const shows = (on: { issue: number } | { comment: number }, ...signs: string[]) =>
  eventually(
    () => {
      expect(world.tracker.reactions(repo, on)).toEqual(signs);
      return true;
    },
    { timeout: 30_000 },
  );
const ends = async (event_id: string, state: string) => {
  const [execution] = await waitForExecutions(world.service, { event_id });
  expect(execution?.state).toBe(state);
};

test("a slow run shows on its issue that it is working, then that it is done", async () => {
  const { number, answer } = think();
  const event = await open(number);
  await shows({ issue: number }, "eyes");
  answer();
  await ends(event, "succeeded");
  await shows({ issue: number }, "+1");
  expect(textsOf(world.tracker, repo, number)).toEqual(["Answer of first"]);
});

test("a fast run shows nothing, unless it fails for good", async () => {
  // If the machine holds a run up for as long as that, it is a slow one.
  for (let began = Number.NEGATIVE_INFINITY, round = 0; performance.now() - began > quietMs && round < 10; round++) {
    began = performance.now();
    await ends(await open(++issue), "succeeded");
  }
  expect(reactionRequests(`/issues/${issue}`)).toBe(0);
  world.model.fault({ path: "chat", how: "status", status: 400 });
  const event = await open(++issue);
  await ends(event, "failed");
  await shows({ issue }, "confused");
  expect(textsOf(world.tracker, repo, issue)).toEqual([]);
  // It is working again, so the sign follows.
  const [failed] = await waitForExecutions(world.service, { event_id: event });
  expect((await world.service.post(`/api/tasks/${failed?.id}/restart`)).status).toBe(200);
  await shows({ issue }, "+1");
});

test("the reaction is on the comment that triggered the run; a cancelled run removes it", async () => {
  const { number } = think();
  world.tracker.createIssue({ repo, number, title: "Asked" });
  const { id } = world.tracker.comment(repo, number, "Any news?", "mona");
  const { body } = await world.service.webhook(issueCommented({ repo, number }, { comment: { id } }), { event: "issue_comment" });
  await shows({ comment: id }, "eyes");
  expect(world.tracker.reactions(repo, { issue: number })).toEqual([]);
  const [running] = await waitForExecutions(world.service, { event_id: body.event_id, state: "running" });
  expect((await world.service.post(`/api/task-executions/${running?.id}/cancel`)).status).toBe(200);
  await shows({ comment: id });
});

test("a run that waits for approval shows that, until it ends", async () => {
  await policy({ staged: true });
  for (const [verdict, ...signs] of [["approve", "+1"], ["reject"], ["cancel"]] as const) {
    const event_id = await open(++issue);
    const [waiting] = await waitForExecutions(world.service, { event_id, state: "waiting" });
    await shows({ issue }, "eyes");
    expect((await world.service.post(`/api/task-executions/${waiting?.id}/${verdict}`, {})).status).toBe(200);
    await shows({ issue }, ...signs);
  }
  await policy({});
});

test("a reaction that the tracker refuses fails no run, and is added later if possible", async () => {
  world.tracker.fault({ method: "POST", path: "/reactions", how: "status", status: 503, times: 2 });
  const { number, answer } = think();
  const event = await open(number);
  await shows({ issue: number }, "eyes");
  world.tracker.fault({ method: "POST", path: "/reactions", how: "status", status: 403, times: 0 });
  answer();
  await ends(event, "succeeded");
  expect(textsOf(world.tracker, repo, number)).toEqual(["Answer of first"]);
  world.tracker.clearFaults();
});

test("kill -9 while it works: the reaction follows the end of the next attempt", async () => {
  const { number, answer } = think();
  const event = await open(number);
  await shows({ issue: number }, "eyes");
  await world.service.kill();
  answer();
  await world.service.restart();
  await ends(event, "succeeded");
  await shows({ issue: number }, "+1");
});

test("off, or in a dry run: no reaction", async () => {
  await policy({ presence: "off" });
  const before = reactionRequests();
  world.model.fault({ path: "chat", how: "status", status: 400 });
  await ends(await open(++issue), "failed");
  await policy({});
  await world.service.restart({ TRACKER_UPDATES_ENABLED: "false" });
  const { number, answer } = think();
  const event = await open(number);
  await eventually(() => world.model.chats().some((chat) => issueOf(chat).endsWith(`#${number}`)));
  world.model.fault({ path: "chat", how: "status", status: 400 });
  await ends(await open(++issue), "failed");
  answer();
  await ends(event, "succeeded");
  expect(reactionRequests()).toBe(before);
});
