import { expect, test, vi } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { startQueue } from "./queue.ts";

const database = useTestDatabase();

test("if more executions become due at once than there are slots, the other replicas are woken", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const wakeOthers = vi.fn();
  const queue = await startQueue({
    sql,
    bus: { on: () => {}, publish: async () => {} },
    log: noLog,
    concurrency: 1,
    leaseSeconds: 60,
    onlyProcess: false,
    breakers: { any: false },
    workers: { worker: "w", watch: () => {} },
    wakeOthers,
    presence: { watch: () => ({ end: () => {} }), wake: () => {} },
    // The first run does not end.
    lookup: { task: () => new Promise(() => {}) },
    settings: {},
  } as never);
  for (const issue of ["1", "2"]) {
    const run_after = new Date(Date.now() + 1_000).toISOString();
    const place = { source: "alpha", slug: "alpha", subject: `alpha:a/b#${issue}`, project: "a/b", issue };
    await sql`insert into task_executions ${sql({ id: newId(), task_id: "t", canonical_trigger: "x", content: "", run_after, ...place })}`;
    queue.takeStored(undefined, true);
  }
  queue.begin();
  await expect.poll(queue.running, { timeout: 10_000 }).toBe(1);
  await expect.poll(() => wakeOthers.mock.calls.length, { timeout: 10_000 }).toBe(1);
  await queue.stop(3_000);
});
