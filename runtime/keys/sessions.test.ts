import { expect, onTestFinished, test, vi } from "vitest";
import type { Actor } from "../platform/operation.ts";
import { openDoor } from "../transports/http/testing/door.ts";
import { openSessions } from "./sessions.ts";

const actor: Actor = { kind: "key", name: "mona", scopes: ["read"] };

test("an open stream looks for its session in the database every ten seconds, and sees at once that its key is revoked", async () => {
  const door = await openDoor(() => []);
  onTestFinished(() => door.close());
  const now = Date.now();
  const clock = vi.spyOn(Date, "now").mockReturnValue(now);
  onTestFinished(() => clock.mockRestore());
  let statements = 0;
  const sql = new Proxy(door.sql, {
    apply: (target, self, values) => {
      statements++;
      return Reflect.apply(target, self, values);
    },
  });
  let isRevoked = false;
  const find = async () => (isRevoked ? undefined : actor);
  const sessions = openSessions(sql, { find, findByHash: find });
  const create = async () => (await sessions.create("a-key"))?.token as string;
  const token = await create();
  const during = async (run: () => Promise<unknown>): Promise<number> => {
    const before = statements;
    await run();
    return statements - before;
  };
  const check = () => sessions.find(token, { isRepeated: true });
  expect([await check(), await during(check), await during(() => sessions.find(token))]).toEqual([actor, 0, 1]);

  isRevoked = true;
  expect(await check()).toBeUndefined();
  isRevoked = false;
  await door.sql`delete from console_sessions`;
  expect([await check(), await sessions.find(token)]).toEqual([actor, undefined]);
  const other = await create();
  expect(await sessions.find(other, { isRepeated: true })).toEqual(actor);
  clock.mockReturnValue(now + 9_000);
  await door.sql`delete from console_sessions`;
  expect(await sessions.find(other, { isRepeated: true })).toEqual(actor);
  clock.mockReturnValue(now + 10_001);
  expect(await sessions.find(other, { isRepeated: true })).toBeUndefined();
  const ended = await create();
  expect(await sessions.find(ended, { isRepeated: true })).toEqual(actor);
  await sessions.end(ended);
  expect(await sessions.find(ended, { isRepeated: true })).toBeUndefined();
});
