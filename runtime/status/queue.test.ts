import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
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
