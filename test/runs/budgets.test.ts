import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueClosed, issueCommented, issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import { type ExecutionSeen, eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, issueOf, roundsOf, startWorld, textsOf, type World } from "../harness/world.ts";

const usage = { prompt_tokens: 60, completion_tokens: 40 };
let world: World;

beforeAll(async () => {
  world = await startWorld({
    tasks: ["first"],
    env: {
      // So many that a crowd has to wait.
      UPDATE_DEBOUNCE_SECONDS: "1",
      EXECUTION_RETRY_LIMIT: "0",
      WORKER_CONCURRENCY: "16",
      WATCHDOG_ENABLED: "true",
      MODEL_PRICES: JSON.stringify({ "script*": { input: 1_000, output: 2_000 } }),
    },
    script: (request) => {
      const text = JSON.stringify(request.messages);
      const delayMs = text.includes("slowly") ? 600 : 0;
      if (request.tools?.length && text.includes("keep calling")) return { ...callOf("get_issue", request), usage, delayMs };
      if (request.tools?.length && text.includes("keep writing"))
        return { ...callOf("add_comment", request, { body: `Note ${roundsOf(request)}` }), usage };
      return { content: "Done.", usage };
    },
  });
  const { service } = world;
  const edited = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.updated" };
  expect((await service.post("/api/tasks/sources", edited)).status).toBe(201);
  for (const canonical_trigger of ["issue.updated", "issue.closed"])
    expect((await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "first" })).status).toBe(201);
});
afterAll(() => world?.[Symbol.asyncDispose]());

interface Seen extends ExecutionSeen {
  readonly held_reason: string | null;
  readonly held_until: string | null;
  readonly waiting_for: string | null;
  readonly reason: string | null;
}
let projects = 0;
const project = async (policy: object): Promise<string> => {
  const repo = `octo/budget-${++projects}`;
  const made = await world.service.post("/api/projects", { name: repo, source: "alpha", source_project_id: repo, policy });
  expect(made.status).toBe(201);
  return repo;
};
const send = async (payload: object) => {
  const { status, body } = await world.service.webhook(payload);
  expect(status).toBeLessThan(203);
  return body;
};
const only = async (event_id: string, state?: ExecutionSeen["state"]): Promise<Seen> =>
  (await waitForExecutions(world.service, { event_id, ...(state && { state }) }))[0] as Seen;
const comment = (repo: string, number: number, text: string) => send(issueCommented({ repo, number, comment: text }));
const event = async (id: string) =>
  (await world.service.get<{ outcome: string; reason: string }>(`/api/webhook-events/${id}`)).body;

describe("limits of one run end it by an answer that says so", () => {
  test.concurrent("tokens", async () => {
    const repo = await project({ run_tokens: 150 });
    const { event_id } = await send(issueOpened({ repo, number: 1, title: "keep calling" }));
    const { result } = await only(event_id, "succeeded");
    expect(result).toMatch(/^Done\.\n\n_This answer was cut short: .*150 tokens \(run_tokens in the policy of the project\)/);
    const chats = world.model.chats().filter((request) => issueOf(request) === `${repo}#1`);
    expect(chats.map(({ tools }) => (tools?.length ?? 0) > 0)).toEqual([true, true, false]);
    expect(textsOf(world.tracker, repo, 1)).toHaveLength(1);
  });

  test.concurrent("seconds", async () => {
    const repo = await project({ run_seconds: 1 });
    const { event_id } = await send(issueOpened({ repo, number: 1, title: "keep calling slowly" }));
    expect((await only(event_id, "succeeded")).result).toMatch(
      /^Done\..*cut short.*limit of 1 second \(run_seconds in the policy/s,
    );
  });

  test.concurrent("writes", async () => {
    const repo = await project({ run_writes: 2 });
    const { event_id } = await send(issueOpened({ repo, number: 1, title: "keep writing" }));
    const { result } = await only(event_id, "succeeded");
    expect(result).toMatch(/cut short.*2 writes \(run_writes/);
    expect(textsOf(world.tracker, repo, 1).filter((text) => text.startsWith("Note"))).toHaveLength(2);
  });
});

describe("a budget of an hour or a day holds further runs", () => {
  test.concurrent("runs on an issue: held with the reason, one notice, released by an operator and by a comment", async () => {
    const repo = await project({ issue_runs_per_hour: 1 });
    await only((await send(issueOpened({ repo, number: 1 }))).event_id, "succeeded");
    const second = await send(issueOpened({ repo, number: 1 }));
    const held = await only(second.event_id, "held");
    expect(held).toMatchObject({
      held_reason: expect.stringMatching(
        /1 runs have begun on this issue in this hour.*limit is 1 \(issue_runs_per_hour in the policy of the project\)/,
      ),
      held_until: expect.stringMatching(/:00:00\.000Z$/),
      waiting_for: "the budget issue_runs_per_hour",
    });
    const third = await send(issueOpened({ repo, number: 1 }));
    await only(third.event_id, "held");
    await eventually(() => expect(textsOf(world.tracker, repo, 1).filter((text) => text.includes("is paused"))).toHaveLength(1));
    expect((await world.service.post(`/api/task-executions/${held.id}/release`)).body).toMatchObject({
      state: "queued",
      held_reason: null,
    });
    await only(second.event_id, "succeeded");
    expect((await world.service.post(`/api/task-executions/${held.id}/release`)).status).toBe(409);
    const command = await comment(repo, 1, "/continue please");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(/1 execution released/),
    });
    await only(third.event_id, "succeeded");
    expect(textsOf(world.tracker, repo, 1).filter((text) => text.includes("is paused"))).toHaveLength(1);
  });

  test.concurrent("tokens of a day: a burst exceeds them by at most the request under way", async () => {
    const repo = await project({ day_tokens: 250 });
    const sent = await Promise.all(Array.from({ length: 12 }, (_, n) => send(issueOpened({ repo, number: n + 1 }))));
    const ends = await Promise.all(
      sent.map(({ event_id }) =>
        eventually(
          async () => {
            const [one] = (await world.service.get<Seen[]>(`/api/task-executions?event_id=${event_id}`)).body;
            return one && ["held", "succeeded"].includes(one.state) && one;
          },
          { timeout: 30_000 },
        ),
      ),
    );
    expect(ends.filter(({ state }) => state === "succeeded")).toHaveLength(3);
    expect(ends.find(({ state }) => state === "held")?.held_reason).toMatch(
      /300 tokens were used by the project today, and the limit is 250/,
    );
    const [held] = ends.filter(({ state }) => state === "held");
    await world.service.post(`/api/task-executions/${held?.id}/release`);
    await only(held?.event_id ?? "", "succeeded");
  });
});

/** Who opens an issue: accounts differ by their ids. */
const by = (id: number, author_association: string) => ({
  sender: { login: `user-${id}`, id, type: "User" },
  issue: { user: { login: `user-${id}`, id }, author_association },
});

describe("budgets of authors and of money", () => {
  test.concurrent("runs of a stranger in an hour are held; those of others are not", async () => {
    const repo = await project({ author_runs_per_hour: 2 });
    const open = (number: number, author: ReturnType<typeof by>) => send(issueOpened({ repo, number }, author));
    for (const number of [1, 2]) await only((await open(number, by(91, "NONE"))).event_id, "succeeded");
    expect(await only((await open(3, by(91, "NONE"))).event_id, "held")).toMatchObject({
      held_reason: expect.stringMatching(/2 runs have begun for this author in this hour.*limit is 2 \(author_runs_per_hour/),
    });
    await only((await open(4, by(92, "NONE"))).event_id, "succeeded");
    for (const number of [5, 6, 7]) await only((await open(number, by(93, "COLLABORATOR"))).event_id, "succeeded");
  });

  test.concurrent("MODEL_PRICES is used if the proxy reports no cost; US dollars of a day hold further runs", async () => {
    const repo = await project({ day_usd: 0.2 });
    for (const number of [1, 2])
      expect(await only((await send(issueOpened({ repo, number }))).event_id, "succeeded")).toMatchObject({
        cost_usd: 0.14,
        unpriced_tokens: 0,
      });
    expect(await only((await send(issueOpened({ repo, number: 3 }))).event_id, "held")).toMatchObject({
      held_reason: expect.stringMatching(
        /0\.28 US dollars were spent by the project today.*limit is 0\.20 \(day_usd in the policy/,
      ),
      held_until: expect.stringMatching(/T00:00:00\.000Z$/),
    });
  });

  test.concurrent("a model without a price is reported where a budget in US dollars should count it", async () => {
    const repo = await project({ month_usd: 0.2 });
    const choices = [{ message: { content: "Done." }, finish_reason: "stop" }];
    world.model.answerWith({ when: `${repo}#\\d+\\.`, reply: { raw: { model: "unheard-of", choices, usage } }, times: 2 });
    for (const number of [1, 2])
      expect(await only((await send(issueOpened({ repo, number }))).event_id, "succeeded")).toMatchObject({
        cost_usd: null,
        unpriced_tokens: 100,
      });
    const { body } = await world.service.get<{ context: object }[]>("/api/watchdog?search=without%20a%20price");
    expect(body.map(({ context }) => context)).toMatchObject([
      { model: "unheard-of", reason: expect.stringContaining("MODEL_PRICES") },
    ]);
  });
});

describe("commands and order", () => {
  test.concurrent("/retry restarts the last failed execution of the issue, and says so", async () => {
    const repo = await project({});
    world.model.answerWith({ when: `${repo}#1\\.`, reply: { status: 400 } });
    const { event_id } = await send(issueOpened({ repo, number: 1 }));
    const failed = await only(event_id, "failed");
    const command = await comment(repo, 1, "/retry");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(new RegExp(`^/retry by .*: restarted execution ${failed.id}$`)),
    });
    await only(event_id, "succeeded");
    const again = await comment(repo, 1, "/retry");
    expect((await event(again.event_id)).reason).toMatch(/nothing on this issue has failed/);
  });

  test.concurrent("on_close finish: runs of a closed issue finish with their comment", async () => {
    const repo = await project({ on_close: "finish" });
    world.model.answerWith({ when: `${repo}#1\\.`, reply: { content: "Finished.", delayMs: 500 } });
    const opened = await send(issueOpened({ repo, number: 1 }));
    await eventually(() => world.model.chats().some((request) => issueOf(request) === `${repo}#1`));
    const close = await send(issueClosed({ repo, number: 1 }));
    for (const { event_id } of [opened, close]) await only(event_id, "succeeded");
    expect(textsOf(world.tracker, repo, 1)).toEqual(["Done.", "Finished."]);
  });

  test.concurrent("/stop cancels everything on the issue and starts nothing; strangers may not use it", async () => {
    const repo = await project({ issue_runs_per_hour: 1 });
    await only((await send(issueOpened({ repo, number: 1 }))).event_id, "succeeded");
    const { event_id } = await send(issueOpened({ repo, number: 1 }));
    await only(event_id, "held");
    const stranger = issueCommented({ repo, number: 1, comment: "/stop" });
    (stranger as { comment: { author_association: string } }).comment.author_association = "NONE";
    expect(await event((await send(stranger)).event_id)).toMatchObject({
      outcome: "discarded",
      reason: expect.stringMatching(/requires the standing collaborator or higher/),
    });
    const command = await comment(repo, 1, "/stop");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(/^\/stop by .*: 1 execution cancelled$/),
    });
    expect(await only(event_id, "cancelled")).toMatchObject({ reason: expect.stringContaining(command.event_id) });
    expect((await waitForExecutions(world.service, { event_id, count: 1 })).length).toBe(1);
  });

  test.concurrent("a close cancels runs of earlier events, and its own tasks run", async () => {
    const repo = await project({});
    world.model.answerWith({ when: `${repo}#1`, reply: { hang: true } });
    const opened = await send(issueOpened({ repo, number: 1 }));
    await only(opened.event_id, "running");
    await eventually(() => world.model.chats().some((request) => issueOf(request) === `${repo}#1`));
    const edited = await send(issueEdited({ repo, number: 1 }));
    const close = await send(issueClosed({ repo, number: 1 }));
    for (const { event_id } of [opened, edited])
      expect(await only(event_id, "cancelled")).toMatchObject({ reason: `the issue was closed (event ${close.event_id})` });
    await only(close.event_id, "succeeded");
    expect(textsOf(world.tracker, repo, 1)).toHaveLength(1);
  });

  test.concurrent("edits in a row make one run with all changes; comments are not joined", async () => {
    const repo = await project({});
    const events: string[] = [];
    for (let n = 1; n <= 5; n++) events.push((await send(issueEdited({ repo, number: 1, title: `Title ${n}` }))).event_id);
    const states = await Promise.all(events.map((event_id) => only(event_id)));
    expect(states.map(({ state }) => state)).toEqual([...Array(4).fill("cancelled"), "succeeded"]);
    expect(states[0]?.reason).toBe(`superseded by event ${events[1]}`);
    expect(textsOf(world.tracker, repo, 1)).toHaveLength(1);
  });
});

test("a burst under kill -9 uses at most the limit and what was under way; held runs continue after release", {
  timeout: 90_000,
}, async () => {
  const { service, model, tracker } = world;
  const repo = await project({ day_tokens: 1_000 });
  const about = () => model.chats().filter((request) => issueOf(request).startsWith(`${repo}#`)).length;
  model.answerWith({ when: `${repo}#\\d+`, reply: { content: "Done.", usage, delayMs: 100 }, times: 0 });
  const sent = await Promise.all(Array.from({ length: 30 }, (_, n) => send(issueOpened({ repo, number: n + 1 }))));
  await eventually(() => about() >= 3);
  await service.kill();
  const underWay = 16;
  await service.restart();
  const all = await eventually(
    async () => {
      const { body } = await service.get<(Seen & { prompt_tokens: number; completion_tokens: number })[]>(
        "/api/task-executions?limit=1000",
      );
      const mine = body.filter(({ event_id }) => sent.some((one) => one.event_id === event_id));
      return mine.every(({ state }) => state === "succeeded" || state === "held") && mine;
    },
    { timeout: 60_000 },
  );
  const tokens = all.reduce((sum, one) => sum + one.prompt_tokens + one.completion_tokens, 0);
  expect(tokens).toBeLessThanOrEqual(1_100);
  expect(about()).toBeLessThanOrEqual(11 + underWay);
  const held = all.filter(({ state }) => state === "held");
  expect(held.length).toBeGreaterThan(15);
  for (const { id } of held) expect((await service.post(`/api/task-executions/${id}/release`)).status).toBe(200);
  for (const { event_id } of sent) await only(event_id, "succeeded");
  for (const n of sent.keys()) expect(textsOf(tracker, repo, n + 1).filter((text) => text === "Done.")).toHaveLength(1);
});

test("while others wait, one project has half of the places, so another does not wait for its 40 runs", {
  timeout: 60_000,
}, async () => {
  const { service, model } = world;
  const [crowd, few] = [await project({}), await project({})];
  expect((await service.post("/api/pause", { scope: "all", reason: "to line up" })).status).toBe(200);
  const before = model.chats().length;
  model.answerWith({ when: "octo/budget-\\d+#", reply: { content: "Done.", usage, delayMs: 200 }, times: 0 });
  const events: string[] = [];
  for (let number = 1; number <= 40; number++)
    events.push((await send(issueOpened({ repo: crowd, number }, by(1, "OWNER")))).event_id);
  for (const number of [1, 2, 3]) events.push((await send(issueOpened({ repo: few, number }, by(2, "OWNER")))).event_id);
  // All of them are in line before the first may go.
  for (const event_id of events) await only(event_id, "queued");
  expect((await service.post("/api/resume", { scope: "all" })).status).toBe(200);
  for (const event_id of events) await only(event_id, "succeeded");
  const order = model.chats().slice(before).map(issueOf);
  expect(order).toHaveLength(43);
  expect(order.slice(0, 16).filter((issue) => issue.startsWith(`${few}#`))).toHaveLength(3);
});

test("a project that comes while another one has all places gets its share of the next ones", { timeout: 60_000 }, async () => {
  const { model } = world;
  const [crowd, few] = [await project({}), await project({})];
  const about = (repo: string) => model.chats().filter((request) => issueOf(request).startsWith(`${repo}#`)).length;
  model.answerWith({ when: "octo/budget-\\d+#", reply: { content: "Done.", usage, delayMs: 500 }, times: 0 });
  const events: string[] = [];
  for (let number = 1; number <= 64; number++)
    events.push((await send(issueOpened({ repo: crowd, number }, by(1, "OWNER")))).event_id);
  await eventually(() => about(crowd) >= 9);
  for (const number of [1, 2, 3]) events.push((await send(issueOpened({ repo: few, number }, by(2, "OWNER")))).event_id);
  const before = about(crowd);
  await eventually(() => about(few) === 3);
  // Those that run, and one full exchange of the places.
  expect(about(crowd) - before).toBeLessThanOrEqual(32);
  for (const event_id of events) await only(event_id, "succeeded");
});
