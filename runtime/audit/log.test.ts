import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { removeAuditEntries } from "../retention/queries.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { appendToLog, verifyLog } from "./log-queries.ts";
import { maskSecrets } from "./mask-secrets.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  await door.sql`delete from audit_log`;
  await door.sql`delete from audit_head`;
  await door.sql`insert into audit_head (seq, hash) values (0, decode(repeat('00', 32), 'hex'))`;
});

const entry = (object: string) => JSON.stringify({ at: "2026-01-01T00:00:00.000Z", actor: "a", operation: "o", object });

describe("the chain", () => {
  test("is intact for an empty log, for one portion and for several", async () => {
    expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 0, broken_at: null });
    await appendToLog(door.sql, ["1", "2"].map(entry));
    await appendToLog(door.sql, [entry('3 "ü"\n')]);
    expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 3, first_seq: 1, broken_at: null });
  });

  test("is intact without its oldest entries, which retention removes", async () => {
    await appendToLog(
      door.sql,
      Array.from({ length: 10 }, (_, i) => entry(String(i))),
    );
    // All entries are of this time; the limit keeps six.
    expect(await removeAuditEntries(door.sql, Date.parse("2026-01-02"), 4)).toBe(4);
    expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 6, first_seq: 5 });
  });

  test("is intact after retention, also if an entry was appended late: it is not removed before those before it", async () => {
    const days = ["02", "04", "01", "05"];
    const late = days.map((day) => JSON.stringify({ ...JSON.parse(entry(day)), at: `2026-01-${day}T00:00:00.000Z` }));
    await appendToLog(door.sql, late);
    expect(await removeAuditEntries(door.sql, Date.parse("2026-01-03"), 10)).toBe(1);
    expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 3, first_seq: 2 });
    expect(await removeAuditEntries(door.sql, Date.parse("2026-01-05"), 1)).toBe(1);
    expect(await removeAuditEntries(door.sql, Date.parse("2026-02-01"), 10)).toBe(1);
    expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 1 });
  });

  test.each([
    ["a changed entry", `update audit_log set entry = replace(entry::text, '"6"', '"x"')::json where seq = 7`, 7],
    ["a removed entry", "delete from audit_log where seq = 5", 6],
    ["a moved time", "update audit_log set created_at = now() where seq = 9", 9],
    ["a removed end", "delete from audit_log where seq = 10", 10],
    ["an empty log", "delete from audit_log", 1],
    [
      "an added entry",
      "insert into audit_log (seq, created_at, entry, previous_hash, hash) select 11, created_at, entry, hash, hash from audit_log where seq = 10",
      11,
    ],
    ["removed oldest entries", "delete from audit_log where seq <= 4", 5],
    ["an entry without its time", "update audit_log set entry = '{}' where seq = 7", 7],
    ["an invalid time", `update audit_log set entry = '{"at":"x"}' where seq = 7`, 7],
    ["an entry that is a string", `update audit_log set entry = '"x"' where seq = 7`, 7],
    ["a head with another number", "update audit_head set seq = 9", 10],
    ["a head with another hash", "update audit_head set hash = sha256('x')", 10],
    ["a removed end of the chain", "delete from audit_head", 10],
    ["an empty log without its end", "delete from audit_head; delete from audit_log", 1],
    [
      "exchanged entries",
      "update audit_log a set entry = b.entry, created_at = b.created_at from audit_log b where (a.seq, b.seq) in ((4, 5), (5, 4))",
      4,
    ],
    [
      "an edited last entry with a hash that fits it",
      `update audit_log set entry = '{"at":"2026-01-01T00:00:00Z"}', hash = sha256(previous_hash || '{"at":"2026-01-01T00:00:00Z"}'::bytea) where seq = 10`,
      10,
    ],
    ["a repeated entry with another number", "update audit_log set seq = 21 where seq = 10", 21],
  ])("shows %s", async (_, attack, at) => {
    await appendToLog(
      door.sql,
      Array.from({ length: 10 }, (_, i) => entry(String(i))),
    );
    await door.sql.unsafe(attack);
    expect(await verifyLog(door.sql)).toMatchObject({ state: "broken", broken_at: at });
  });
});

test.each([
  [
    { auth_secret: "x", nested: [{ api_token: "y" }] },
    { auth_secret: "********", nested: [{ api_token: "********" }] },
  ],
  [{ credentials: { user: "u", flag: true } }, { credentials: { user: "********", flag: true } }],
  [{ settings: { any: "x" } }, { settings: { any: "********" } }],
  [{ tokens: { total: 5 } }, { tokens: { total: 5 } }],
  ["https://user:pass@host/?a=1&access_token=t", "https://********@host/?a=1&access_token=********"],
  ["?api%5Fkey=k&sort_key=s&project_key=APP", "?api%5Fkey=********&sort_key=s&project_key=APP"],
  [
    "https://a.example/?to=https://b.example/?sig=s&next=?token=t?u v",
    "https://a.example/?to=https://b.example/?sig=********&next=?token=******** v",
  ],
  [{ key: `sbx_${"a".repeat(43)}` }, { key: "********" }],
])("secrets of %j are masked", (value, shown) => expect(maskSecrets(value)).toEqual(shown));
