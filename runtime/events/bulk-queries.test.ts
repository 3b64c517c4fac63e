import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { insertArrivals } from "../webhooks/queries.ts";
import { openedEvent } from "../webhooks/test-event.ts";
import { nextReplayable } from "./bulk-queries.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

test("events with large payloads are read a few at a time, because they are held in memory", async () => {
  const ids = [newId(), newId(), newId(), newId()];
  for (const id of ids) {
    const event = openedEvent({ id, body: Buffer.alloc(7_000_000, "x") });
    await insertArrivals(door.sql, [{ event, project: null, issue: null, content: "", executions: [] }]);
  }
  const next = async (after: string) =>
    (await nextReplayable(door.sql, { filter: {}, upTo: newId() }, after, 20)).map(({ id }) => id);
  const first = await next("00000000-0000-0000-0000-000000000000");
  expect(first).toEqual(ids.slice(0, 3));
  expect(await next(first.at(-1) ?? "")).toEqual(ids.slice(3));
});
