import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { by, limitedWorld, type Seen, usage } from "../harness/limited-world.ts";
import { eventually } from "../harness/wait.ts";
import { issueOf, textsOf } from "../harness/world.ts";

const limited = limitedWorld();
const { project, send, only, heldOrSucceeded, answerWithUsage, comment, editInARow, event } = limited;

describe("limits of one run end it by an answer that says so", () => {
  test.concurrent("tokens", async () => {
    const repo = await project({ run_tokens: 150 });
    const { event_id } = await send(issueOpened({ repo, number: 1, title: "keep calling" }));
    const { result } = await only(event_id, "succeeded");
    expect(result).toMatch(/^Done\.\n\n_This answer was cut short: .*150 tokens \(run_tokens in the policy of the project\)/);
    const chats = limited.world.model.chats().filter((request) => issueOf(request) === `${repo}#1`);
    expect(chats.map(({ tools }) => (tools?.length ?? 0) > 0)).toEqual([true, true, false]);
    expect(textsOf(limited.world.tracker, repo, 1)).toHaveLength(1);
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
    expect(textsOf(limited.world.tracker, repo, 1).filter((text) => text.startsWith("Note"))).toHaveLength(2);
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
        /1 run has begun on this issue in this hour.*limit is 1 \(issue_runs_per_hour in the policy of the project\)/,
      ),
      held_until: expect.stringMatching(/:00:00\.000Z$/),
      waiting_for: "the budget issue_runs_per_hour",
    });
    const third = await send(issueOpened({ repo, number: 1 }));
    await only(third.event_id, "held");
    await eventually(() =>
      expect(textsOf(limited.world.tracker, repo, 1).filter((text) => text.includes("is paused"))).toHaveLength(1),
    );
    expect((await limited.world.service.post(`/api/task-executions/${held.id}/release`)).body).toMatchObject({
      state: "queued",
      held_reason: null,
    });
    await only(second.event_id, "succeeded");
    expect((await limited.world.service.post(`/api/task-executions/${held.id}/release`)).status).toBe(409);
    const command = await comment(repo, 1, "/continue please");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(/1 execution released/),
    });
    await only(third.event_id, "succeeded");
    expect(textsOf(limited.world.tracker, repo, 1).filter((text) => text.includes("is paused"))).toHaveLength(1);
  });

  test.concurrent("tokens of a day: a burst exceeds them by at most the request under way", async () => {
    const repo = await project({ day_tokens: 250 });
    const sent = await Promise.all(Array.from({ length: 12 }, (_, n) => send(issueOpened({ repo, number: n + 1 }))));
    const ends = await Promise.all(sent.map(({ event_id }) => heldOrSucceeded(event_id)));
    expect(ends.filter(({ state }) => state === "succeeded")).toHaveLength(3);
    expect(ends.find(({ state }) => state === "held")?.held_reason).toMatch(
      /300 tokens were used by the project today, and the limit is 250/,
    );
    const [held] = ends.filter(({ state }) => state === "held");
    await limited.world.service.post(`/api/task-executions/${held?.id}/release`);
    await only(held?.event_id ?? "", "succeeded");
  });
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

  test.concurrent("of a stranger's runs that are claimed together, those over the limit say how many have begun", async () => {
    const { service } = limited.world;
    const repo = await project({ author_runs_per_hour: 2 });
    const { body: projects } = await service.get<{ id: number; name: string }[]>("/api/projects?limit=1000");
    const scope = { scope: "project", id: projects.find(({ name }) => name === repo)?.id };
    expect((await service.post("/api/pause", { ...scope, reason: "so that one claim takes all" })).status).toBe(200);
    const sent = await Promise.all([1, 2, 3, 4, 5].map((number) => send(issueOpened({ repo, number }, by(94, "NONE")))));
    expect((await service.post("/api/resume", scope)).status).toBe(200);
    const ends = await Promise.all(sent.map(({ event_id }) => heldOrSucceeded(event_id)));
    const held = ends.filter(({ state }) => state === "held");
    const reason = expect.stringMatching(/^2 runs have begun for this author in this hour, and the limit is 2 /);
    expect(held.map(({ held_reason }) => held_reason)).toEqual([reason, reason, reason]);
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

  test.concurrent.each<[string, object | undefined]>([
    ["no usage", undefined],
    ["an impossible usage", { prompt_tokens: -5, completion_tokens: 1e15, cost: -1_000 }],
    ["a usage in texts", { prompt_tokens: "60", completion_tokens: "40", cost: "0" }],
    ["an impossible count for the answer", { prompt_tokens: 160, completion_tokens: 1e15 }],
  ])("of a proxy that reports %s, tokens are estimated and counted", async (_, reported) => {
    const repo = await project({ day_tokens: 10 });
    answerWithUsage(repo, "scripted", reported);
    const first = await only((await send(issueOpened({ repo, number: 1 }))).event_id, "succeeded");
    expect(first).toMatchObject({ completion_tokens: 2, unpriced_tokens: 0 });
    const { prompt_tokens, cost_usd } = first as unknown as { prompt_tokens: number; cost_usd: number };
    expect(prompt_tokens).toBeGreaterThan(100);
    expect(prompt_tokens).toBeLessThan(100_000);
    expect(cost_usd).toBeGreaterThan(0);
    const held_reason = expect.stringMatching(/^[\d,]+ tokens were used by the project today, and the limit is 10 /);
    expect(await only((await send(issueOpened({ repo, number: 2 }))).event_id, "held")).toMatchObject({ held_reason });
  });
});

test("after kill -9 in a burst, the budget holds, and each waiting execution runs once", {
  timeout: 240_000,
}, async () => {
  const { service, model, tracker } = limited.world;
  const repo = await project({ day_tokens: 1_000 });
  const about = () => model.chats().filter((request) => issueOf(request).startsWith(`${repo}#`)).length;
  model.answerWith({ when: `${repo}#\\d+`, reply: { content: "Done.", usage, delayMs: 100 }, times: 0 });
  const sent = await Promise.all(Array.from({ length: 30 }, (_, n) => send(issueOpened({ repo, number: n + 1 }))));
  await eventually(() => about() >= 3);
  const edited = await project({});
  const edits = await editInARow(edited, 3);
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
  // An execution that waited for further changes when the process died is also a single run.
  const ends = await Promise.all(edits.events.map((event_id) => only(event_id)));
  expect(ends.map(({ state }) => state).sort()).toEqual(["cancelled", "cancelled", "succeeded"]);
  expect(textsOf(tracker, edited, edits.number)).toEqual(["Done."]);
});

test("budgets of the whole service count every project, also after a crash", {
  timeout: 240_000,
}, async () => {
  const { service, tracker } = limited.world;
  const repos = [await project({}), await project({})];
  // 100 tokens cost 0.1 US dollars.
  const prices = join(service.folder, "prices.json");
  writeFileSync(prices, JSON.stringify({ "script*": 1_000 }));
  const month = { MODEL_PRICES: prices, BUDGET_MONTH_USD: "0.25" };
  await service.restart(month);
  const open = (repo: string | undefined, number: number) => send(issueOpened({ repo: repo ?? "", number }));
  for (const [repo, number] of [
    [repos[0], 1],
    [repos[1], 1],
    [repos[0], 2],
  ] as const)
    expect(await only((await open(repo, number)).event_id, "succeeded")).toMatchObject({ cost_usd: 0.1 });
  const late = [(await open(repos[0], 3)).event_id, (await open(repos[1], 3)).event_id];
  for (const event_id of late) {
    const held = await only(event_id, "held");
    expect(held).toMatchObject({
      held_reason: expect.stringMatching(
        /0\.30 US dollars were spent this month.*limit is 0\.25 \(BUDGET_MONTH_USD in the settings\)/,
      ),
      held_until: expect.stringMatching(/-01T00:00:00\.000Z$/),
    });
  }

  await service.kill();
  await service.restart({ ...month, BUDGET_DAY_TOKENS: "550" });
  const filter = { state: "held", q: "BUDGET_MONTH_USD" };
  const bulk = async (confirm = {}) =>
    (
      await service.post<{ confirm: string; count: number; changed: number }>("/api/task-executions/bulk", {
        action: "release",
        filter,
        ...confirm,
      })
    ).body;
  const { confirm, count } = await bulk();
  expect(count).toBe(2);
  expect(await bulk({ confirm })).toMatchObject({ count: 2, changed: 2 });
  for (const event_id of late) await only(event_id, "succeeded");
  for (const repo of repos) expect(textsOf(tracker, repo, 3).filter((text) => text === "Done.")).toHaveLength(1);

  // The released run counts: five runs, and one more.
  await service.restart({ MODEL_PRICES: prices, BUDGET_DAY_TOKENS: "550" });
  await only((await open(repos[0], 4)).event_id, "succeeded");
  expect(await only((await open(repos[1], 4)).event_id, "held")).toMatchObject({
    held_reason: expect.stringMatching(/600 tokens were used today.*limit is 550 \(BUDGET_DAY_TOKENS in the settings\)/),
  });
});
