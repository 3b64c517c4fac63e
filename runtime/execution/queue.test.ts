import { expect, test, vi } from "vitest";
import { hourLasts } from "../../test/harness/wait.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { startQueue } from "./queue.ts";

const database = useTestDatabase();

/** A queue whose runs do not end. */
const open = (options: object) =>
  startQueue({
    sql: database().sql,
    bus: { on: () => {}, publish: async () => {} },
    log: noLog,
    leaseSeconds: 60,
    onlyProcess: false,
    breakers: { any: false },
    workers: { worker: "w", watch: () => {} },
    wakeOthers: () => {},
    presence: { watch: () => ({ end: () => {} }), wake: () => {} },
    lookup: { task: () => new Promise(() => {}) },
    settings: {},
    ...options,
  } as never);

async function insert(issue: string, run_after = new Date()): Promise<void> {
  const { sql } = database();
  const place = { source: "alpha", slug: "alpha", subject: `alpha:a/b#${issue}`, project: "a/b", issue };
  await sql`insert into task_executions ${sql({ id: newId(), task_id: "t", canonical_trigger: "x", content: "", run_after, ...place })}`;
}

test("if more executions become due at once than there are slots, the other replicas are woken", {
  tags: ["postgres"],
}, async () => {
  const wakeOthers = vi.fn();
  const queue = await open({ concurrency: 1, wakeOthers });
  for (const issue of ["1", "2"]) {
    await insert(issue, new Date(Date.now() + 1_000));
    queue.takeStored(undefined, true);
  }
  queue.begin();
  await expect.poll(queue.running).toBe(1);
  await expect.poll(() => wakeOthers.mock.calls.length).toBe(1);
  await queue.stop(3_000);
});

test("executions that a claim may start do not wait for the notices of those that it holds", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await sql`delete from task_executions`;
  for (const issue of ["3", "4"]) await insert(issue);
  await hourLasts(20);
  await sql`insert into budget_usage (scope, day, day_tokens) values ('issue alpha:a/b#3', date_trunc('day', now(), 'UTC'), 9)`;
  const { promise: noticeStored, resolve: storeNotice } = Promise.withResolvers<void>();
  const onHeld = vi.fn(() => noticeStored);
  const queue = await open({ concurrency: 2, settings: { issue_tokens_per_day: 1 }, onHeld });
  queue.begin();
  await expect.poll(() => onHeld.mock.calls.length).toBe(1);
  expect(queue.running()).toBe(1);
  storeNotice();
  await queue.stop(3_000);
});

test("a stop ends its runs in time, counted from when it stopped claiming", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await sql`delete from task_executions`;
  await insert("5");
  const queue = await open({ concurrency: 1 });
  queue.begin();
  await expect.poll(queue.running).toBe(1);
  queue.stopClaiming();
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
  const began = Date.now();
  await queue.stop(65_000);
  clock.mockRestore();
  expect(Date.now() - began).toBeLessThan(40_000);
});
