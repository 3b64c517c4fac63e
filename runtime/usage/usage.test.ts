import { expect, test } from "vitest";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { firstIdOf } from "../platform/ids.ts";
import { percentile } from "./durations.ts";
import { portionsOf, split } from "./operations.ts";
import { sumUsage } from "./queries.ts";

test("a period combines the sums of its whole days with live data for the rest", () => {
  const at = (text: string) => Date.parse(text);
  const known = { from: "2026-01-01", to: "2026-01-31" };
  expect(split(at("2026-01-10T12:00:00Z"), at("2026-02-03T00:00:00Z"), known)).toEqual({
    summedPeriod: { from: "2026-01-11", to: "2026-01-31" },
    remainingPeriods: [
      { from: "2026-01-10T12:00:00.000Z", to: "2026-01-11T00:00:00.000Z" },
      { from: "2026-02-01T00:00:00.000Z", to: "2026-02-03T00:00:00.000Z" },
    ],
  });
  expect(split(at("2026-01-10T01:00:00Z"), at("2026-01-10T02:00:00Z"), known).summedPeriod).toBeNull();
  expect(split(at("2026-01-10T01:00:00Z"), at("2026-01-12T02:00:00Z"), null).remainingPeriods).toHaveLength(1);
});

test("percentiles of bucketed durations", () => {
  expect(percentile(new Map(), 0.5)).toBeNull();
  expect(
    percentile(
      new Map([
        [0, 1],
        [40, 99],
      ]),
      0.5,
    ),
  ).toBe(Math.round(2 ** (40.5 / 4)));
});

test("a long period that is not summed is read in portions, which contain every execution once", {
  tags: ["postgres"],
}, async () => {
  const own: TestDatabase = await testDatabase(testServer as string, { replicas: 1, max: 1 });
  try {
    const sql = own.pools[0]?.sql as NonNullable<(typeof own.pools)[0]>["sql"];
    const [start, hour] = [Date.parse("2025-03-01T00:00:00Z"), 3_600_000];
    // Those of the last five hours have one and the same time.
    const times = Array.from({ length: 40 }, (_, n) => start + Math.min(n, 35) * 5 * hour);
    const rows = times.map((time, n) => ({
      id: firstIdOf(time + n).replace(/0{4}$/, String(1_000 + n)),
      created_at: new Date(time).toISOString(),
      state: n % 3 === 0 ? "failed" : "succeeded",
    }));
    await sql`
      insert into task_executions (id, created_at, state, task_id, canonical_trigger, source, slug, content, prompt_tokens)
      select id, created_at, state, 't', 'x', 'alpha', 'alpha', '', 7
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, created_at timestamptz, state text)`;
    const all = { from: "2000-01-01T00:00:00.000Z", to: "3000-01-01T00:00:00.000Z" };
    const parts = await Array.fromAsync(portionsOf(sql, all, 6));
    expect(parts.length).toBeGreaterThan(6);
    expect([parts[0]?.from, ...parts.map(({ to }) => to)]).toEqual([...parts.map(({ from }) => from), all.to]);
    const sums = await Promise.all(parts.map(async (part) => await sumUsage(sql, [], null, [part])));
    const runs = sums.map((found) => found.reduce((total, row) => total + row.runs, 0));
    expect(Math.max(...runs)).toBeLessThanOrEqual(7);
    const total = (name: "runs" | "failed" | "prompt_tokens") => sums.flat().reduce((sum, row) => sum + row[name], 0);
    expect([total("runs"), total("failed"), total("prompt_tokens")]).toEqual([40, 14, 280]);
  } finally {
    await own.drop();
  }
});
