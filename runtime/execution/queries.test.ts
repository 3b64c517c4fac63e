import { describe, expect, test } from "vitest";
import type { Database } from "../platform/database/client.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { findWorkers, releaseExecutions, releaseLost, renewLeases } from "./lease-queries.ts";
import { LiveWorkers } from "./live-workers.ts";
import { type ClaimedExecution, claimExecutions } from "./queries.ts";
import { newStep } from "./steps/new-step.ts";
import { loadSteps, writeChanges } from "./steps/queries.ts";

const database = useTestDatabase(10);

/** Queues a single execution on a separate issue. */
async function queueOne(sql: Database["sql"], project: string, issue = "1"): Promise<string> {
  const id = newId();
  const place = { source: "alpha", slug: "alpha", subject: `alpha:${project}#${issue}`, project, issue };
  await sql`update task_executions set state = 'cancelled' where state = 'queued'`;
  await sql`insert into task_executions ${sql({ id, task_id: "t", canonical_trigger: "x", content: "", ...place })}`;
  return id;
}

const claim = (sql: Database["sql"], maxExecutions: number, worker = "w", leaseSeconds = 600): Promise<ClaimedExecution[]> =>
  claimExecutions(sql, { worker, maxExecutions, leaseSeconds, limits: {}, share: null, leasedExecutions: [] });

const claimOne = async (sql: Database["sql"], worker = newId()): Promise<ClaimedExecution> =>
  (await claim(sql, 1, worker, 600))[0] as ClaimedExecution;

test("writing steps, renewing leases and releasing them do not deadlock", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const rows = Array.from({ length: 200 }, (_, n) => ({
    id: newId(),
    task_id: "t",
    canonical_trigger: "x",
    source: "alpha",
    slug: "alpha",
    subject: `alpha:a/b#${n}`,
    project: "a/b",
    issue: String(n),
    content: "",
  }));
  await sql`insert into task_executions ${sql(rows)}`;
  const held = await claim(sql, 200);
  expect(held).toHaveLength(200);
  const shuffled = () => held.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at);
  const change = ({ one: { id, lease } }: ReturnType<typeof shuffled>[number]) => ({
    id,
    lease,
    steps: [],
    completed: [],
    patch: { tool_calls: 1 },
  });
  const work = [
    () => writeChanges(sql, shuffled().slice(0, 64).map(change)),
    () => writeChanges(sql, shuffled().slice(0, 64).map(change)),
    () =>
      renewLeases(
        sql,
        shuffled().map(({ one }) => one),
        60,
      ),
    () => releaseLost(sql, "expired"),
  ];
  await Promise.all(
    work.map(async (one) => {
      for (let round = 0; round < 60; round++) await one();
    }),
  );
  expect(await renewLeases(sql, held, 60)).toEqual(new Set(held.map(({ id }) => id)));
});

test("an execution that is stored during a claim is claimed with its event", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await sql`update task_executions set state = 'cancelled'`;
  const [event, id] = [newId(), newId()];
  let claimed: Promise<ClaimedExecution[]> = Promise.resolve([]);
  await sql.begin(async (tx) => {
    // The claim begins and waits; then the event arrives.
    await tx`lock table task_executions in exclusive mode`;
    claimed = claim(sql, 9).then((all) => all);
    const waiting = () => tx<{ waits: boolean }[]>`
      select exists (select 1 from pg_locks where not granted and relation = 'task_executions'::regclass) as waits`;
    while (!(await waiting())[0]?.waits) await new Promise((resolve) => setTimeout(resolve, 5));
    const at = { source: "beta", slug: "beta", subject: "beta:a/b#1" };
    await tx`insert into webhook_events ${tx({ id: event, ...at, outcome: "dispatched", private: true, thread: "t1", headers: "{}", body: Buffer.from("{}") })}`;
    await tx`insert into task_executions ${tx({ id, event_id: event, task_id: "t", canonical_trigger: "x", ...at, project: "a/b", issue: "1", content: "" })}`;
  });
  expect(await claimed).toMatchObject([{ id, place: { private: true, thread: "t1" }, origin: { author: null } }]);
});

test("a silent worker counts as a death, one that lost its lease but is alive does not", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  const id = await queueOne(sql, "d/d");
  const expire = async () => {
    await sql`update task_executions set lease_expires_at = now() - interval '1 second' where id = ${id}`;
    expect(await releaseLost(sql, "expired")).toBe(1);
  };
  const state = async () => (await sql`select state, deaths, death_leases from task_executions where id = ${id}`)[0];
  for (let outage = 0; outage < 6; outage++) {
    const lost = await claimOne(sql);
    await expire();
    expect(await state()).toMatchObject({ state: "queued", deaths: 1, death_leases: [lost.lease] });
    await releaseExecutions(sql, [{ ...lost, clean: false }]);
    expect(await state()).toMatchObject({ state: "queued", deaths: 0, death_leases: [] });
  }
  await claimOne(sql);
  await expire();
  const second = await claimOne(sql);
  // Twice from the same worker: the second time, there is nothing to reduce.
  await releaseExecutions(sql, [{ ...second, clean: true }]);
  await releaseExecutions(sql, [{ ...second, clean: true }]);
  expect(await state()).toMatchObject({ state: "queued", deaths: 1 });
});

test("crashes count in a row: a further step resets the count, and each crash after the first doubles the wait", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const id = await queueOne(sql, "r/r");
  const claim = async () => {
    await sql`update task_executions set run_after = now() - interval '1 second' where id = ${id}`;
    return claimOne(sql);
  };
  // In one transaction, so that the wait is measured from the moment of the release.
  const die = () =>
    sql.begin(async (tx) => {
      await tx`update task_executions set lease_expires_at = now() - interval '1 second' where id = ${id}`;
      expect(await releaseLost(tx as unknown as typeof sql, "expired")).toBe(1);
      const [state] = await tx<{ deaths: number; wait: number }[]>`
        select deaths, extract(epoch from run_after - now())::float8 as wait from task_executions where id = ${id}`;
      return state as { deaths: number; wait: number };
    });
  const deaths: number[] = [];
  for (let n = 0; n < 4; n++) {
    await claim();
    const state = await die();
    deaths.push(state.deaths);
    const shortest = n === 0 ? 0 : 2 ** n;
    // The column has milliseconds.
    expect(state.wait).toBeGreaterThan(shortest - 0.001);
    expect(state.wait).toBeLessThan(2 * shortest + 0.001);
  }
  expect(deaths).toEqual([1, 2, 3, 4]);

  const { lease } = await claim();
  const step = newStep({ kind: "model", state: "succeeded" }, 0);
  await writeChanges(sql, [{ id, lease, steps: [step], completed: [], patch: {} }]);
  expect(await die()).toMatchObject({ deaths: 1 });
  // The last crash is taken back, not one from before the step.
  await claim();
  expect(await die()).toMatchObject({ deaths: 2 });
  await releaseExecutions(sql, [{ id, lease, clean: false }]);
  expect((await sql`select deaths from task_executions where id = ${id}`)[0]).toEqual({ deaths: 1 });
});

test("a step records how long its request may be under way; a clean release records that it is not", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  await sql`update task_executions set state = 'cancelled' where state <> 'cancelled'`;
  const row = { task_id: "t", canonical_trigger: "x", source: "alpha", slug: "alpha", project: "w/w", content: "" };
  const rows = [1, 2].map((n) => ({ ...row, id: newId(), subject: `alpha:w/w#${n}`, issue: String(n) }));
  await sql`insert into task_executions ${sql(rows)}`;
  const held = await claim(sql, 2, newId());
  for (const { id, lease } of held) {
    const step = newStep({ kind: "post", state: "started", in_flight_ms: 600_000 }, 0);
    await writeChanges(sql, [{ id, lease, steps: [step], completed: [], patch: {} }]);
  }
  await releaseExecutions(
    sql,
    held.map(({ id, lease }, n) => ({ id, lease, clean: n === 0 })),
  );
  const left = await Promise.all(held.map(async ({ id }) => (await loadSteps(sql, id))[0]?.in_flight_ms));
  expect(left[0]).toBeNull();
  expect(left[1]).toBeGreaterThan(500_000);
});

describe("workers that end without releasing their executions", { tags: ["postgres"] }, () => {
  const log: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
  const open = (missedChecks: number, keepsSession = true) =>
    LiveWorkers.open({ database: database(), log, missedChecks }, keepsSession);
  /** An execution that a worker runs. */
  const runs = async (worker: string, issue: string) => {
    const { sql } = database();
    const id = await queueOne(sql, "l/l", issue);
    await claimOne(sql, worker);
    return async () => (await sql`select state, deaths from task_executions where id = ${id}`)[0];
  };
  const isPresent = async (worker: string) => (await findWorkers(database().sql, worker)).present.length > 0;

  test("lose their leases, unless they keep no session", async () => {
    const [ended, other, blind, pooled] = [await open(1), await open(1), await open(1), await open(1, false)];
    const state = await runs(ended.worker, "1");
    await runs(pooled.worker, "2");
    expect((await other.check()).deadWorkers).toEqual([]);
    await ended.close();
    await blind.close();
    await expect.poll(() => isPresent(ended.worker)).toBe(false);
    await expect.poll(() => isPresent(blind.worker)).toBe(false);
    expect((await other.check()).deadWorkers).toEqual([ended.worker]);
    // Its own session is missing too, so it does not know whether it is alive, and the others must not take what it claims.
    const seen = blind.worker;
    expect((await blind.check()).deadWorkers).toEqual([]);
    expect(blind.worker).not.toBe(seen);
    expect(await releaseLost(database().sql, { workers: [ended.worker] })).toBe(1);
    expect(await state()).toEqual({ state: "queued", deaths: 1 });
    expect((await other.check()).deadWorkers).toEqual([]);
    await other.close();
  });

  test("keep their leases if their session is back before too many looks", async () => {
    const [first, other] = [await open(2), await open(2)];
    await runs(first.worker, "3");
    const ends = () => expect.poll(() => isPresent(first.worker)).toBe(false);
    await first.close();
    await ends();
    expect((await other.check()).deadWorkers).toEqual([]);
    const ignore = () => {};
    const again = await database().listen?.("any", ignore, ignore, first.worker);
    expect((await other.check()).deadWorkers).toEqual([]);
    again?.close();
    await ends();
    expect((await other.check()).deadWorkers).toEqual([]);
    expect((await other.check()).deadWorkers).toEqual([first.worker]);
    await other.close();
  });

  test("a look also finds a lease that has expired while its worker keeps its session", async () => {
    const [frozen, other] = [await open(1), await open(1)];
    await runs(frozen.worker, "4");
    const taken: string[] = [];
    let releases = 0;
    other.watch(
      async (gone) => void taken.push(...gone),
      async () => void releases++,
    );
    await database().sql`update task_executions set lease_expires_at = now() where split_part(lease, ':', 1) = ${frozen.worker}`;
    await expect.poll(() => releases).toBeGreaterThan(0);
    expect(taken).not.toContain(frozen.worker);
    await Promise.all([frozen.close(), other.close()]);
  });
});
