import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { newId } from "../platform/ids.ts";
import { claimExecutions, releaseExpired, renewLeases } from "./queries.ts";
import { writeChanges } from "./steps/queries.ts";

let own: TestDatabase | null = null;
beforeAll(async () => {
  if (testServer) own = await testDatabase(testServer, { replicas: 1, max: 10 });
}, 60_000);
afterAll(() => own?.drop());

test("steps are written while leases are renewed and released, and nobody waits in a ring", { tags: ["postgres"] }, async () => {
  const { sql } = (own as TestDatabase).pools[0] as Database;
  const rows = Array.from({ length: 200 }, (_, n) => ({
    ...{ id: newId(), task_id: "t", canonical_trigger: "x", source: "alpha", slug: "alpha" },
    ...{ subject: `alpha:a/b#${n}`, project: "a/b", issue: String(n), content: "" },
  }));
  await sql`insert into task_executions ${sql(rows)}`;
  const held = await claimExecutions(sql, "w", 200, 60);
  expect(held).toHaveLength(200);
  const shuffled = () => held.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at);
  const change = ({ one: { id, lease } }: ReturnType<typeof shuffled>[number]) => ({
    ...{ id, lease, steps: [], completed: [], patch: { tool_calls: 1 } },
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
    () => releaseExpired(sql, false),
  ];
  await Promise.all(
    work.map(async (one) => {
      for (let round = 0; round < 60; round++) await one();
    }),
  );
  expect(await renewLeases(sql, held, 60)).toEqual(new Set(held.map(({ id }) => id)));
});
