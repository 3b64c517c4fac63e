import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, openDoor } from "../../transports/http/testing/door.ts";
import { connectPostgres, type Database } from "./client.ts";
import { createDatabase, type TestDatabase, testDatabase, testServer } from "./test-database.ts";

let door: Door;
let server: TestDatabase | null = null;
beforeAll(async () => {
  door = await openDoor(() => []);
  if (testServer) server = await testDatabase(testServer, { replicas: 1, max: 1 });
}, 60_000);
afterAll(() => Promise.all([door?.close(), server?.drop()]));

/** How often a statement on ten ids reads a table of 20,000 rows from end to end, if its session first ran it on a few rows. */
async function fullReads({ sql }: Database, statements: number): Promise<number> {
  const ids = Array.from({ length: 10 }, (_, n) => n);
  await sql`create table growing (id int primary key)`;
  // Otherwise the server could update the statistics meanwhile.
  await sql`alter table growing set (autovacuum_enabled = false)`;
  await sql`insert into growing select generate_series(1, 10)`;
  await sql`analyze growing`;
  const find = (tx: Database["sql"]) => tx`select id from growing where id = any(${ids}::int[])`;
  for (let n = 0; n < 20; n++) await find(sql);
  await sql`insert into growing select generate_series(11, 20000)`;
  for (let n = 0; n < statements; n++) await find(sql);
  const scans = (tx: Database["sql"]) =>
    tx<[{ n: number }]>`select seq_scan::int as n from pg_stat_xact_user_tables where relname = 'growing'`;
  const tx = await sql.reserve();
  try {
    await tx`begin`;
    const [before] = await scans(tx);
    await find(tx);
    const [after] = await scans(tx);
    await tx`commit`;
    return after.n - before.n;
  } finally {
    tx.release();
    await sql`drop table growing`;
  }
}

test("a plan that was made while a table was small is replaced", { tags: ["postgres"] }, async () => {
  const database = server?.pools[0] as Database;
  expect(await fullReads(database, 0)).toBe(1);
  expect(await fullReads(database, 100)).toBe(0);
});

test("also in the embedded database, which never updates statistics", async () => {
  expect(await fullReads(door.database, 0)).toBe(1);
  expect(await fullReads(door.database, 100)).toBe(0);
});

test("sessions have the isolation and formats of the service, whatever the defaults of the database are", {
  tags: ["postgres"],
}, async () => {
  const { url, drop } = await createDatabase(testServer as string, "empty");
  const name = new URL(url).pathname.slice(1);
  const one = connectPostgres(url, { max: 1 });
  const defaults = ["default_transaction_isolation = serializable", "lock_timeout = 10", "DateStyle = German"];
  for (const setting of [...defaults, "idle_session_timeout = 60000", "array_nulls = off", "transform_null_equals = on"])
    await one.sql.unsafe(`alter database ${name} set ${setting}`);
  await one.close();
  const other = connectPostgres(url, { max: 1 });
  try {
    for (const sql of [other.sql, other.longRunning, other.sessions?.(1, {}) as Database["sql"]]) {
      const [row] = await sql`
        select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout, current_setting('jit') as jit,
          current_setting('idle_session_timeout') as idle_timeout, current_setting('DateStyle') as style,
          ${["NULL", null]}::text[] as list, current_setting('array_nulls') as nulls, current_setting('transform_null_equals') as equals`;
      const times = { lock_timeout: "0", idle_timeout: "0" };
      const formats = { style: "ISO, MDY", list: ["NULL", null], nulls: "on", equals: "off" };
      expect(row).toEqual({ isolation: "read committed", jit: "off", ...times, ...formats });
    }
  } finally {
    await other.close();
    await drop();
  }
});
