import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../platform/ids.ts";
import { type Door, openDoor } from "../../transports/http/testing/door.ts";
import { claimDeferred, claimExpired } from "./queries.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

const partition = { plugin: "tickets", slug: "tickets" };
const megabyte = 1_000_000;

test("large webhooks are claimed a few at a time, because they are held in memory", async () => {
  const ids = [newId(), newId(), newId(), newId()];
  for (const [n, id] of ids.entries())
    await door.sql`insert into unread_webhooks (id, plugin, slug, source, headers, body, received_at)
      values (${id}, 'tickets', 'tickets', 'tickets', '{}', convert_to(repeat('x', ${7 * megabyte}), 'UTF8'),
        now() - make_interval(mins => ${60 - n}))`;
  const release = () => door.sql`update unread_webhooks set held_until = null`;
  expect((await claimDeferred(door.sql, partition, 20)).map(({ id }) => id)).toEqual(ids.slice(0, 3));
  await release();
  const portions = [
    await claimExpired(door.sql, 60, 20),
    await claimExpired(door.sql, 60, 20),
    await claimExpired(door.sql, 60, 20),
  ];
  expect(portions.map((rows) => rows.map(({ id }) => id).sort())).toEqual([ids.slice(0, 3), ids.slice(3), []]);
});
