import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { listReplicas } from "./queries.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

/** A replica that started and sent its last heartbeat so many seconds ago. */
const insertReplica = (host: string, started: number, seen: number, process: string | null = null) =>
  door.sql`
    insert into replicas (id, host, role, version, running, started_at, seen_at, process)
    values (${newId()}, ${host}, 'all', '1', 0, now() - ${started} * interval '1 second', now() - ${seen} * interval '1 second', ${process})`;

test("a replica that was killed and started again is listed once; one that is silent beside another on its host is listed", async () => {
  await insertReplica("killed", 900, 60);
  await insertReplica("killed", 50, 5);
  await insertReplica("frozen", 900, 60);
  await insertReplica("frozen", 800, 5);
  await insertReplica("gone", 900, 400);
  // The later one would have removed the earlier one if its process had ended.
  await insertReplica("same", 700, 60, "place 7 100");
  await insertReplica("same", 50, 5, "place 8 200");
  await insertReplica("moved", 700, 60, "place 7 100");
  await insertReplica("moved", 50, 5, "other 7 100");
  const listed = (await listReplicas(door.sql, null, 300)).map(({ host, silent_seconds }) => [host, silent_seconds !== null]);
  expect(listed).toEqual([
    ["frozen", true],
    ["frozen", false],
    ["same", true],
    ["killed", false],
    ["same", false],
    ["moved", false],
  ]);
});
