import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type ExecutionSeen, eventually, hourLasts } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
const answer = "Answer of first";

interface Seen extends ExecutionSeen {
  readonly waiting_for: string | null;
  readonly next_attempt_at: string | null;
  readonly held_reason: string | null;
  readonly held_until: string | null;
}
const open = async ({ service }: World, number: number) => {
  const { status, body } = await service.webhook(issueOpened({ repo, number }));
  expect(status).toBe(202);
  return { number, id: body.executions?.[0]?.id ?? "" };
};
const seen = async ({ service }: World, { id }: { id: string }) => (await service.get<Seen>(`/api/task-executions/${id}`)).body;
/** Waits until the watchdog has the entry. */
const has = ({ service }: World, entry: string) =>
  eventually(async () => {
    const { body } = await service.get<{ level: string; message: string }[]>("/api/watchdog?limit=1000");
    expect(body.map(({ level, message }) => `${level}: ${message}`)).toContain(entry);
    return true;
  });
const check = async ({ service }: World, name: string) =>
  (await service.get<{ checks: { name: string; state: string; next_try_at: string | null }[] }>("/api/status")).body.checks.find(
    (one) => one.name === name,
  );
// No retries: an outage that used up a single attempt would make the run fail.
const startWith = (env: Record<string, string> = {}) =>
  startWorld({ tasks: ["first"], env: { EXECUTION_RETRY_LIMIT: "0", WATCHDOG_ENABLED: "true", ...env } });

describe.concurrent.each([
  ["the model", "model", { path: "chat", status: 503, times: 0 }],
  ["the connection alpha", "tracker", { method: "POST", path: "comments", status: 503, times: 0 }],
] as const)("%s keeps answering 503 to a single execution", (words, server, rule) => {
  test.concurrent("it is held with a notice on its issue and in the watchdog, and continues when the outage ends", {
    timeout: 360_000,
  }, async () => {
    await hourLasts(120);
    // 1.8 seconds.
    await using world = await startWith({ OUTAGE_HOLD_HOURS: "0.0005" });
    const fault = world[server].fault(rule);
    const lone = await open(world, 1);
    await eventually(async () => (await seen(world, lone)).state === "held", { timeout: 30_000 });
    const held = await seen(world, lone);
    expect(held).toMatchObject({ waiting_for: words, held_until: null, next_attempt_at: null });
    expect(held.held_reason).toMatch(
      new RegExp(`^${words} has been unavailable since \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC, longer than OUTAGE_HOLD_HOURS`),
    );
    expect(held.error).toContain("503");
    await has(world, `error: ${words} is unavailable; executions wait for it`);
    await has(world, "warn: executions are held");
    // On a busy machine, a status may omit what the database did not return in time.
    const name = server === "model" ? "model" : "connection:alpha";
    await eventually(async () => (await check(world, name))?.state === "failed");
    // No execution sends requests any more.
    const asked = fault.applied;
    await new Promise((done) => setTimeout(done, 3_000));
    if (server === "model") expect(fault.applied).toBe(asked);

    // Released too early, it tries and is held again.
    expect((await world.service.post(`/api/task-executions/${lone.id}/release`)).status).toBe(200);
    await eventually(
      async () => (await seen(world, lone)).attempts > held.attempts && (await seen(world, lone)).state === "held",
      {
        timeout: 60_000,
      },
    );
    world[server].clearFaults();
    const next = await open(world, 2);
    for (const one of [next, lone]) {
      await eventually(async () => (await seen(world, one)).state === "succeeded", { timeout: 60_000 });
      const texts = textsOf(world.tracker, repo, one.number);
      expect(texts.filter((text) => text === answer)).toHaveLength(1);
    }
    // A notice that the tracker has refused is posted half a minute later.
    const notices = () =>
      textsOf(world.tracker, repo, 1).filter((text) =>
        /^Work on this issue is paused: .* until the outage ends or it is released\./.test(text),
      );
    await eventually(() => notices().length > 0, { timeout: 60_000 });
    expect(notices()).toHaveLength(1);
    await has(world, `info: ${words} is available again; executions continue`);
  });
});

describe.concurrent.each([
  ["model", "the model", { path: "chat" }],
  ["tracker", "the connection alpha", { method: "POST", path: "comments" }],
] as const)("%s sends a Retry-After of more than a minute", (server, words, requests) => {
  let world: World;
  let last = 0;
  beforeAll(async () => {
    world = await startWith();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test.each([429, 503])(
    "%d: all executions wait until then, and no attempt is used up",
    {
      concurrent: false,
      timeout: 180_000,
    },
    async (status) => {
      const fault = world[server].fault({ ...requests, status, retryAfter: 200, times: 0 });
      const asked = Date.now();
      const first = await open(world, ++last);
      await eventually(async () => (await seen(world, first)).waiting_for?.startsWith(`${words}, which is unavailable until`));
      const { next_attempt_at, state } = await seen(world, first);
      expect(state).toBe("queued");
      const wait = (Date.parse(next_attempt_at ?? "") - asked) / 1000;
      expect(wait).toBeGreaterThan(195);
      expect(wait).toBeLessThan(230);
      const second = await open(world, ++last);
      if (server === "model")
        await eventually(async () => (await seen(world, second)).waiting_for?.startsWith(`${words}, which is unavailable until`));
      else
        await eventually(
          async () => (await seen(world, second)).state === "queued" && (await seen(world, second)).attempts === 1,
        );
      await new Promise((done) => setTimeout(done, 2_500));
      expect(fault.applied).toBe(1);

      // The operator who restarts it may have fixed the cause.
      world[server].clearFaults();
      await world.service.restart();
      for (const one of [first, second]) {
        await eventually(async () => (await seen(world, one)).state === "succeeded", { timeout: 30_000 });
        expect(textsOf(world.tracker, repo, one.number)).toEqual([answer]);
      }
    },
  );

  if (server === "tracker") return;
  test("a longer Retry-After is cut to an hour", { concurrent: false }, async () => {
    const reply = { status: 429, headers: { "retry-after": "1e300" } };
    world.model.answerWith({ when: `#${++last}\\.`, reply });
    const put = await open(world, last);
    await eventually(async () => (await seen(world, put)).next_attempt_at !== null);
    const wait = (Date.parse((await seen(world, put)).next_attempt_at ?? "") - Date.now()) / 1000;
    expect(wait).toBeGreaterThan(3_500);
    expect(wait).toBeLessThanOrEqual(3_600);
  });
});
