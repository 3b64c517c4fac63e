import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { commentingScript, plainScript, startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
const tasks = ["first", "second"];
const answers = ["Answer of first", "Answer of second"];
const notes = ["Note of first", "Note of second"];

describeOnDatabases("kill -9", (database) => {
  let world: World;
  beforeAll(async () => {
    const uses = (text: string) => text.includes("with a tool");
    world = await startWorld({
      database,
      tasks,
      script: (request, number) => (uses(JSON.stringify(request.messages)) ? commentingScript : plainScript)(request, number),
    });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const open = async (number: number, title = "plain") => {
    const { status, body } = await world.service.webhook(issueOpened({ repo, number, title }));
    expect(status).toBe(202);
    expect(body.executions).toHaveLength(tasks.length);
    return body.event_id;
  };
  const endsWell = async (event_id: string) => {
    await world.service.restart();
    const executions = await waitForExecutions(world.service, { event_id, count: tasks.length });
    expect(executions.map(({ state, error }) => ({ state, error }))).toEqual(
      tasks.map(() => ({ state: "succeeded", error: null })),
    );
    return executions;
  };

  test("while the model is thinking", async () => {
    const before = world.model.chats().length;
    world.model.answerWith({ reply: { hang: true } });
    const event = await open(1);
    await eventually(() => world.model.chats().length > before);
    await world.service.kill();
    const executions = await endsWell(event);
    expect(executions.map(({ attempts }) => attempts).sort()).toEqual([1, 2]);
    expect(textsOf(world.tracker, repo, 1)).toEqual(answers);
  });

  test("after a tool's write reached the tracker, before its answer", async () => {
    const fault = world.tracker.fault({ method: "POST", path: "/issues/2/comments", after: true, how: "hang" });
    const event = await open(2, "with a tool");
    await eventually(() => world.tracker.comments(repo, 2).length >= 1);
    await world.service.kill();
    await endsWell(event);
    expect(fault.applied).toBe(1);
    expect(textsOf(world.tracker, repo, 2)).toEqual([...answers, ...notes]);
  });

  test("after the comment was posted, before that was recorded", async () => {
    const fault = world.tracker.fault({ method: "POST", path: "/issues/3/comments", after: true, how: "hang" });
    const event = await open(3);
    await eventually(() => world.tracker.comments(repo, 3).length >= 1);
    await world.service.kill();
    const executions = await endsWell(event);
    expect(fault.applied).toBe(1);
    expect(textsOf(world.tracker, repo, 3)).toEqual(answers);
    expect(executions.every(({ result_url }) => result_url?.includes(`${repo}/issues/3#issuecomment-`))).toBe(true);
  });

  test("three times in a row, at another step each time", async () => {
    const reached = (count: number) => eventually(() => world.tracker.comments(repo, 4).length >= count);
    world.model.answerWith({ when: "#4\\b", reply: { hang: true } });
    const before = world.model.chats().length;
    const event = await open(4, "with a tool");
    await eventually(() => world.model.chats().length > before);
    await world.service.kill();
    for (const count of [1, 2]) {
      world.tracker.clearFaults();
      world.tracker.fault({ method: "POST", path: "/issues/4/comments", after: true, how: "hang" });
      await world.service.restart();
      await reached(count);
      await world.service.kill();
    }
    await endsWell(event);
    expect(textsOf(world.tracker, repo, 4)).toEqual([...answers, ...notes]);
  });

  test("right after the answer to the webhook: nothing is lost", async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => 100 + i);
    const events = await Promise.all(numbers.map((number) => open(number)));
    await world.service.kill();
    await world.service.restart();
    for (const event_id of events) {
      const executions = await waitForExecutions(world.service, { event_id, count: tasks.length });
      expect(executions.every(({ state }) => state === "succeeded")).toBe(true);
    }
    for (const number of numbers) expect(textsOf(world.tracker, repo, number)).toEqual(answers);
  });
});
