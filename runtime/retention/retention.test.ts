import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hourLasts } from "../../test/harness/wait.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { usageOperation } from "../usage/operations.ts";
import { daysToSum, sumDay } from "../usage/queries.ts";
import { retentionOperations } from "./operations.ts";
import { pass } from "./run.ts";
import { days, insertTestEvent } from "./test-events.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(({ longRunning }) => [
    usageOperation,
    ...retentionOperations({
      days,
      bus: { publish: async () => {} } as never,
      longRunning,
      sources: () => ["alpha"],
      memories: { list: async () => ({ items: [] }), remove: async () => {} },
    }),
  ]);
  // Days are summed once they are over.
  await hourLasts(30);
}, 120_000);
afterAll(() => door?.close());

const run = () => pass({ sql: door.sql, log: noLog, days, embedded: true }, "test", new AbortController().signal);
describe("retention", () => {
  test("each kind of data is removed after its period, unless its execution has not ended", async () => {
    const { sql } = door;
    const old = await insertTestEvent(sql, { ago: 100 });
    const held = await insertTestEvent(sql, { ago: 100, state: "held" });
    const middle = await insertTestEvent(sql, { ago: 70 });
    const discarded = await insertTestEvent(sql, { ago: 10, outcome: "discarded" });
    const recent = await insertTestEvent(sql, { ago: 1 });
    const ancient = await insertTestEvent(sql, { ago: 500 });
    const waiting = await insertTestEvent(sql, { ago: 510, state: "waiting" });
    const due = async () => {
      const { retention } = (await door.get("/api/storage")).body;
      return retention.map(({ setting, due }: { setting: string; due: number }) => [setting, due]);
    };
    expect(await due()).toEqual([
      ["RETENTION_EVENT_DAYS", 2],
      ["RETENTION_DISCARDED_DAYS", 1],
      ["RETENTION_DISCARDED_DAYS", 0],
      ["RETENTION_TRANSCRIPT_DAYS", 3],
      ["RETENTION_HISTORY_DAYS", 1],
      ["RETENTION_AUDIT_DAYS", 0],
      [null, 0],
    ]);
    const before = (await door.get("/api/usage?group_by=month")).body;
    await sql`update task_executions set changes = '{title: Crash → Crash at start}'`;
    await run();
    const withChanges = await sql<{ id: string }[]>`select id from task_executions where changes <> '{}'`;
    expect(withChanges.map(({ id }) => id).sort()).toEqual([held, recent, waiting].sort());
    const kept = await sql<{ id: string; body: boolean; title: boolean; text: boolean | null; steps: number }[]>`
      select e.id, e.body_removed_at is null as body, e.title is not null as title, x.transcript_removed_at is null as text,
        (select count(*) from execution_steps s where s.execution_id = x.id) as steps
      from webhook_events e left join task_executions x on x.event_id = e.id`;
    const left = Object.fromEntries(kept.map(({ id, body, text, steps }) => [id, [body, text, steps]]));
    expect(kept.filter(({ body, title }) => body !== title)).toEqual([]);
    expect(left).toEqual({
      [old]: [false, false, 0],
      [held]: [true, true, 2],
      [middle]: [true, false, 0],
      [discarded]: [false, true, 0],
      [recent]: [true, true, 2],
      [waiting]: [true, true, 2],
    });
    expect(left).not.toHaveProperty(ancient);
    // A delivery whose body was removed is still known.
    expect(await sql`select 1 from webhook_events where slug = 'alpha' and delivery_id = ${old}`).toHaveLength(1);
    // The sums include the removed rows.
    expect((await door.get("/api/usage?group_by=month")).body).toEqual(before);
    expect(Object.values(await run()).every((count) => count === 0)).toBe(true);
    expect((await due()).every(([, count]: [string, number]) => count === 0)).toBe(true);
  });

  test("the audit log keeps its newest entry, the watchdog its newest 10,000", async () => {
    const { sql } = door;
    const at = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString();
    const entries = [500, 450, 410].map((ago) => JSON.stringify({ at: at(ago), actor: "a", operation: "o", object: "x" }));
    await sql`select append_to_audit_log(${entries}::text[])`;
    await sql`insert into watchdog_logs (level, message, created_at) values ('info', 'old', ${at(31)})`;
    await sql`insert into watchdog_logs (level, message) select 'info', 'new' from generate_series(1, 10005)`;
    expect(await run()).toMatchObject({ audit_entries: 2, watchdog_entries: 6 });
    expect(await sql`select seq from audit_log`).toEqual([{ seq: 3 }]);
  });
});

describe("usage", () => {
  test("by month, project, agent, model and task, also after the days are summed", async () => {
    const { sql } = door;
    await sql`delete from webhook_events`;
    await sql`delete from usage_days`;
    await sql`delete from usage_sums`;
    await insertTestEvent(sql, { ago: 40, model: "large", cost: 1.5, seconds: 4 });
    await insertTestEvent(sql, { ago: 3, model: "large", cost: 0.25, seconds: 40 });
    await insertTestEvent(sql, { ago: 3, model: "small", cost: null, state: "failed" });
    await insertTestEvent(sql, { ago: 0, model: "large", cost: 0.25, state: "held" });
    const from = new Date(Date.now() - 10 * 86_400_000).toISOString();
    const ask = async () => (await door.get(`/api/usage?from=${from}&group_by=model,source`)).body;
    const live = await ask();
    expect(live).toMatchObject({ runs: 3, failed: 1, held: 1, cost_usd: 0.5, unpriced_tokens: 110, tokens: { total: 330 } });
    expect(live.groups).toEqual([
      expect.objectContaining({ model: "large", source: "alpha", runs: 2, cost_usd: 0.5, unpriced_tokens: 0, tool_calls: 2 }),
      expect.objectContaining({ model: "small", source: "alpha", runs: 1, cost_usd: null, unpriced_tokens: 110, failed: 1 }),
    ]);
    expect(Math.abs(live.groups[0].p95_duration_ms - 40_000)).toBeLessThan(4_000);
    await run();
    expect(await ask()).toEqual(live);
    const months = (await door.get("/api/usage?group_by=month")).body.groups;
    expect(months.map(({ month }: { month: string }) => month)).toEqual(
      months.map(({ month }: { month: string }) => month).sort(),
    );
    expect((await door.get("/api/usage")).body).toEqual({
      tokens: { prompt: 400, completion: 40, total: 440 },
      tasks: { total: 4, succeeded: 2, failed: 1, running: 0, queued: 0 },
      tool_calls: { total: 4, failed: 0 },
    });
  });

  test("the latest days are summed first, without gaps between them", async () => {
    const { sql } = door;
    await sql`delete from usage_sums`;
    const all = await daysToSum(sql);
    expect(all).toEqual([...all].sort().reverse());
    const [yesterday = "", second = "", third = "", fourth] = all;
    for (const day of [yesterday, second, third]) await sumDay(sql, day);
    expect((await daysToSum(sql))[0]).toBe(fourth);
    // As if it was a day later.
    await sql`delete from usage_sums where day = ${yesterday}`;
    expect((await daysToSum(sql)).slice(0, 2)).toEqual([yesterday, fourth]);
  });

  test("an execution that ends after its day was summed is summed again", async () => {
    await door.sql`delete from usage_sums`;
    const id = await insertTestEvent(door.sql, { ago: 2, state: "held", cost: 8 });
    await run();
    await door.sql`update task_executions set state = 'succeeded', finished_at = now() where id = ${id}`;
    await run();
    const body = (await door.get("/api/usage?group_by=source")).body;
    expect(body.tasks.succeeded).toBe(3);
  });

  test.each([
    ["group_by=week", /day, month/],
    ["from=yesterday", /zone/],
    ["from=2026-01-01T00:00:00", /zone/],
  ])("?%s is 400", async (query, error) =>
    expect(await door.get(`/api/usage?${query}`)).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } }),
  );
});
