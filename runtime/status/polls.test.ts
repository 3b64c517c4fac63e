import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import type { Finding } from "./board.ts";
import { storedProbes } from "./local-probes.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
});
afterAll(() => door?.close());

const findings = async (): Promise<readonly Finding[]> =>
  (await storedProbes(door.sql)[0]?.run(new AbortController().signal)) ?? [];

test("a poll source that fails or is late is shown, even if a hundred others work", async () => {
  await door.sql`
    insert into poll_sources (source, project_id, interval_minutes, enabled, next_poll_at, last_polled_at, last_error)
    select 'alpha', 'octo/app' || n, 5, true, now() + interval '1 minute', now(), case when n = 150 then 'alpha answered 502' end
    from generate_series(1, 150) n`;
  const [first, ...others] = await findings();
  expect(first).toMatchObject({ name: "poll:alpha octo/app150", state: "failed", message: "alpha answered 502" });
  expect(others.every(({ state }) => state === "ok")).toBe(true);
  await door.sql`update poll_sources set next_poll_at = now() - interval '20 minutes' where project_id = 'octo/app140'`;
  const [, late] = await findings();
  expect(late).toMatchObject({
    name: "poll:alpha octo/app140",
    state: "degraded",
    message: expect.stringMatching(/^it has been due since \S+Z, and no replica has polled it yet$/),
  });
  // It came due while the service was stopped.
  await door.sql`
    insert into replicas (id, host, role, version, running, started_at, settings)
    values (gen_random_uuid(), 'host', 'all', '1', 0, now() - interval '1 minute', null)`;
  expect((await findings()).filter(({ state }) => state === "degraded")).toEqual([]);
  await door.sql`update replicas set started_at = now() - interval '11 minutes'`;
  expect((await findings())[1]).toMatchObject({ name: "poll:alpha octo/app140", state: "degraded" });
});
