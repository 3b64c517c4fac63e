import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { openExecutions } from "../usage/queries.ts";
import { readQueue } from "./queries.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

test("the median wait is known after executions have waited for months, for example for the end of a pause", async () => {
  const { sql } = door;
  await sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, content, state, created_at, started_at, finished_at)
    values (${newId()}, 't', 'x', 'alpha', 'alpha', '', 'succeeded', now() - interval '60 days', now(), now())`;
  const { p50_wait_ms, ...queue } = await readQueue(sql);
  expect(p50_wait_ms).toBe(60 * 86_400_000);
  expect(queue).toEqual({ queued: 0, running: 0, held: 0, waiting: 0, failed_last_hour: 0, oldest_queued_seconds: null });
});

test("the oldest execution that is due is not paused and does not wait for a time", async () => {
  const { sql } = door;
  const store = (source: string, minutes: number, wait: string) => sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, content, state, created_at, run_after)
    values (${newId()}, 't', 'x', ${source}, ${source}, '', 'queued', now() - ${minutes} * interval '1 minute', now() + ${wait}::interval)`;
  const minutesOfOldest = async () => Math.floor(((await openExecutions(sql)).oldest ?? 0) / 60);
  await store("alpha", 40, "1 hour");
  await store("beta", 30, "0");
  await store("alpha", 20, "0");
  expect(await minutesOfOldest()).toBe(30);
  await sql`insert into pauses (scope, id, reason, paused_by) values ('source', 'beta', '', '')`;
  expect(await minutesOfOldest()).toBe(20);
  await sql`insert into pauses (scope, id, reason, paused_by) values ('all', '', '', '')`;
  expect(await minutesOfOldest()).toBe(0);
});
