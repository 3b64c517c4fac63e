import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { watchdogOperation } from "./operations.ts";
import { insertEntry } from "./queries.ts";
import { createWatchdog } from "./watchdog.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => [watchdogOperation(true, () => ["alpha"])]);
  await insertEntry(door.sql, "info", "Started", {});
  await insertEntry(door.sql, "error", "execution failed: 100% sure", { execution_id: "x1", nested: { deep: [1] } });
  await insertEntry(door.sql, "warn", "a filter FAILED on a payload", {});
}, 60_000);
afterAll(() => door?.close());

const messages = async (query: string) =>
  (await door.get(`/api/watchdog${query}`)).body.map((one: { message: string }) => one.message);

test("entries newest first, with what they are about", async () => {
  const { status, total, body } = await door.get("/api/watchdog");
  expect([status, total]).toEqual([200, 3]);
  expect(body[1]).toEqual({
    id: expect.any(Number),
    level: "error",
    message: "execution failed: 100% sure",
    context: { execution_id: "x1", nested: { deep: [1] } },
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(body.map((one: { level: string }) => one.level)).toEqual(["warn", "error", "info"]);
});

test("level, search, limit and offset", async () => {
  expect(await messages("?level=info")).toEqual(["Started"]);
  expect(await messages("?search=failed")).toEqual(["a filter FAILED on a payload", "execution failed: 100% sure"]);
  expect(await messages("?search=failed&level=error")).toEqual(["execution failed: 100% sure"]);
  expect(await messages("?search=100%25")).toEqual(["execution failed: 100% sure"]);
  // Neither is a pattern.
  expect(await messages("?search=100%25%25")).toEqual([]);
  expect(await messages("?search=Star_ed")).toEqual([]);
  const page = await door.get("/api/watchdog?limit=1&offset=1");
  expect([page.total, page.body.length, page.body[0].level]).toEqual([3, 1, "error"]);
});

test.each(["level=fatal", "limit=0", "limit=1001", "offset=-1", "search=a&search=b"])("?%s is 400", async (query) => {
  expect((await door.get(`/api/watchdog?${query}`)).status).toBe(400);
});

test("disabled it keeps nothing, and says so by name", async () => {
  const disabled = await openDoor(() => [watchdogOperation(false, () => ["alpha"])]);
  try {
    createWatchdog(disabled.sql, noLog, false)("error", "unheard");
    const answer = await disabled.get("/api/watchdog");
    expect(answer).toMatchObject({ status: 503, body: { error: expect.stringContaining("WATCHDOG_ENABLED") } });
    expect(await disabled.sql`select 1 from watchdog_logs`).toHaveLength(0);
  } finally {
    await disabled.close();
  }
}, 60_000);

test("reports are grouped by caller, then by network; those of callers after the first 20 and 20 networks of a minute together", () => {
  const lines: [string, Record<string, unknown> | undefined][] = [];
  const log = { ...noLog, warn: (message: string, context?: Record<string, unknown>) => void lines.push([message, context]) };
  const watchdog = createWatchdog(door.sql, log, false);
  const refuse = (address: string, key: string | null = null) =>
    watchdog("warn", "a request was refused", { reason: "wrong", key, address });
  for (let round = 0; round < 3; round++) {
    refuse("192.0.2.7");
    refuse("192.0.2.8");
    refuse("192.0.2.8", "sbx_AAAA…");
  }
  expect(lines.map(([, context]) => [context?.address, context?.key])).toEqual([
    ["192.0.2.7", null],
    ["192.0.2.8", null],
    ["192.0.2.8", "sbx_AAAA…"],
  ]);
  // A scanner with many keys, and one with many addresses of a network, do not hide the address of another caller.
  for (let n = 0; n < 5_000; n++) {
    refuse("192.0.2.9", `sbx_${n}…`);
    refuse(`2001:db8::${n.toString(16)}`);
  }
  const ofNetwork = "others than the first 5 of this network within a minute";
  expect(lines.slice(-2).map(([, context]) => context)).toEqual([
    { reason: "wrong", address: "192.0.2.9", callers: ofNetwork },
    { reason: "wrong", address: "2001:db8:0:0::/64", callers: ofNetwork },
  ]);
  expect(lines).toHaveLength(3 + 2 * 6);
  refuse("198.51.100.1", "sbx_REAL…");
  expect(lines.at(-1)?.[1]).toEqual({ reason: "wrong", key: "sbx_REAL…", address: "198.51.100.1" });
  // The number of networks is limited, too.
  for (let n = 0; n < 5_000; n++) refuse(`2001:db8:${n.toString(16)}::1`);
  expect(lines).toHaveLength(41);
  expect(lines.at(-1)?.[1]).toEqual({ reason: "wrong", callers: "others than the first 20 within a minute" });
  // They are counted across the reasons of a message.
  for (const reason of ["missing", "expired"])
    for (let n = 0; n < 5_000; n++)
      watchdog("warn", "a request was refused", { reason, address: `2001:db8:${n.toString(16)}::1` });
  expect(lines).toHaveLength(43);
  // Reports of another kind are not affected.
  watchdog("warn", "an agent was refused", { reason: "wrong", agent_id: "a", address: "192.0.2.7" });
  expect(lines.at(-1)?.[1]).toMatchObject({ address: "192.0.2.7" });
  // With too many kinds, those with the same message share a group.
  for (let n = 0; n < 2_000; n++) watchdog("warn", "an agent was refused", { reason: `wrong ${n}`, address: "192.0.2.7" });
  const before = lines.length;
  expect(before).toBeLessThanOrEqual(1_001);
  for (let n = 0; n < 5_000; n++) watchdog("warn", "an agent was refused", { reason: `wrong ${n}`, address: "192.0.2.9" });
  expect(lines.length).toBe(before);
});

test("callers behind a proxy that is not trusted have its address, so more of them are reported separately", () => {
  const keys: unknown[] = [];
  const log = {
    ...noLog,
    warn: (_: string, context?: Record<string, unknown>) => void keys.push(context?.key ?? context?.callers),
  };
  const watchdog = createWatchdog(door.sql, log, false);
  const refuse = (address: string, key: string) => watchdog("warn", "a request was refused", { reason: "wrong", key, address });
  for (let n = 0; n < 15; n++) refuse("10.0.0.7", `key ${n}`);
  expect(keys).toEqual(Array.from({ length: 15 }, (_, n) => `key ${n}`));
  for (let n = 0; n < 5_000; n++) refuse("10.0.0.7", `invented ${n}`);
  expect(keys.slice(20)).toEqual(["others than the first 20 of this network within a minute"]);
});
