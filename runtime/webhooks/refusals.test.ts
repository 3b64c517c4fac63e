import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { createRefusals } from "./refusals.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterEach(() => vi.useRealTimers());
afterAll(() => door?.close());

const dayMs = 86_400_000;
const refused = { source: "alpha", slug: "alpha", reason: "missing header" };

/** Refusals whose statements wait for `isReleased`, and the number of their statements. Other replicas have stored 999. */
async function open(isReleased: Promise<void> = Promise.resolve()) {
  await door.sql`delete from refused_deliveries`;
  const ofOthers = Array.from({ length: 999 }, () => ({ id: newId(), ...refused }));
  await door.sql`insert into refused_deliveries ${door.sql(ofOthers)}`;
  const begin = vi.fn(async (run: (tx: never) => Promise<unknown>) => {
    await isReleased;
    return door.sql.begin(run as never);
  });
  const refusals = createRefusals({ begin } as unknown as Sql, noLog);
  return { refusals, begin, refuse: () => refusals.add({ ...refused, headers: {} }) };
}
const inDatabase = async (): Promise<number> =>
  Number((await door.sql`select count(*) as count from refused_deliveries where source = 'alpha'`)[0]?.count);

test("a source that reached its limit at midnight has a new one on the next day", async () => {
  const midnight = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
  vi.useFakeTimers({ toFake: ["Date"], now: midnight - 1_000 });
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  const { refuse } = await open(isReleased);
  refuse();
  await new Promise(setImmediate);
  vi.setSystemTime(midnight);
  refuse();
  // The statement of the first day counts its last refusal.
  release();
  await expect.poll(inDatabase).toBe(1_001);
  refuse();
  await expect.poll(inDatabase).toBe(1_002);
});

test("beyond the limit of a source, nothing is stored and no statement is sent", async () => {
  const { refusals, begin, refuse } = await open();
  for (let count = 0; count < 3; count++) {
    refuse();
    await refusals.whenStored();
  }
  expect(await inDatabase()).toBe(1_000);
  expect(begin).toHaveBeenCalledOnce();
});
