import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { noLog } from "../../transports/http/testing/door.ts";
import { StartError } from "../config.ts";
import { connectEmbedded, type Database } from "./client.ts";
import { openEmbedded } from "./embedded.ts";
import { findFolder, migrate } from "./migrate.ts";
import { type TestDatabase, testDatabase, testServer } from "./test-database.ts";
import { copyCluster, folderInMemory } from "./test-folder.ts";

const folder = mkdtempSync(join(folderInMemory(), "signalbox-migrations-"));
let database: Database;
beforeAll(async () => {
  await copyCluster(join(folder, "data"), "empty");
  database = connectEmbedded(await openEmbedded(join(folder, "data")));
}, 60_000);
afterAll(async () => {
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, text: string) => writeFileSync(join(folder, name), text);

test("an edited migration prevents the start; a missing digest is added", async () => {
  file("0001_one.sql", "create table one (id int);");
  expect(await migrate(database, noLog, folder)).toBe(1);
  file("0002_two.sql", "create table two (id int);");
  expect(await migrate(database, noLog, folder)).toBe(1);
  await database.sql`update migrations set digest = null where id = 1`;
  expect(await migrate(database, noLog, folder)).toBe(0);
  expect((await database.sql`select 1 from migrations where digest is null`).length).toBe(0);
  file("0001_one.sql", "create table one (id bigint);");
  await expect(migrate(database, noLog, folder)).rejects.toThrow(/a different text of 0001_one /);
  file("0003_three.sql", "create table three (id int);");
  await expect(migrate(database, noLog, folder)).rejects.toThrow(/a different text/);
  expect((await database.sql`select 1 from migrations`).length).toBe(2);
});

test("a database of a newer version prevents the start, and says what to do instead of a stack", async () => {
  rmSync(join(folder, "0002_two.sql"));
  rmSync(join(folder, "0003_three.sql"));
  const starts = migrate(database, noLog, folder);
  await expect(starts).rejects.toThrow("The database is at migration 2, but this version of Signalbox knows only 1.");
  await expect(starts).rejects.toBeInstanceOf(StartError);
});

describe("beside a replica that serves", { tags: ["postgres"] }, () => {
  let shared: TestDatabase;
  let own: string;
  beforeAll(async () => {
    shared = await testDatabase(testServer as string, { replicas: 2, max: 3 });
    own = mkdtempSync(join(folderInMemory(), "signalbox-migrations-"));
    cpSync(findFolder(), own, { recursive: true });
  });
  afterAll(async () => {
    await shared?.drop();
    rmSync(own, { recursive: true, force: true });
  });
  const next = (text: string) => {
    const last = readdirSync(own)
      .filter((name) => name.endsWith(".sql"))
      .sort()
      .at(-1) as string;
    writeFileSync(join(own, `${String(Number(last.slice(0, 4)) + 1).padStart(4, "0")}_next.sql`), text);
  };
  const pools = () => shared.pools as [Database, Database];

  const untilWaitedFor = (table: string, { sql }: Database) =>
    vi.waitFor(
      async () => {
        const waits = await sql`select from pg_locks where not granted and relation = ${table}::regclass`;
        expect(waits).not.toHaveLength(0);
      },
      { timeout: 30_000 },
    );

  test("a migration that waits for a table lets its readers pass, and is applied once the table is free", async () => {
    const [serving, starting] = pools();
    const reader = await serving.sql.reserve();
    await reader`begin`;
    const [session] = await reader`select pg_backend_pid() as pid from agents right join (select 1) one on true limit 1`;
    next("alter table agents add column beside int;");
    const warn = vi.fn();
    const applied = migrate(starting, { ...noLog, warn }, own);
    // Every query succeeds while the migration is repeatedly refused the lock.
    await untilWaitedFor("agents", serving);
    await serving.sql`select 1 from agents`;
    // The log names the session that holds the table.
    await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 30_000 });
    expect(warn.mock.lastCall).toEqual([
      expect.stringMatching(/^migration postponed/),
      expect.objectContaining({ longest_transaction: expect.objectContaining({ pid: session?.pid }) }),
    ]);
    await reader`commit`;
    reader.release();
    expect(await applied).toBe(1);
  });

  test("the index of a large table is built while others write to it; one for a new column within the migration", async () => {
    const [serving, starting] = pools();
    await serving.sql`create table large (id int, words text)`;
    await serving.sql`insert into large select n, repeat('word ', 100) from generate_series(1, 20000) n`;
    await serving.sql`create index large_id on large (id)`;
    const writer = await serving.sql.reserve();
    await writer`begin`;
    await writer`insert into large values (0, '')`;
    next(
      "drop index large_id;\nalter table large add column more int;\ncreate index large_id on large (id, words);\ncreate index large_more on large (more);\n",
    );
    const applied = migrate(starting, noLog, own);
    await vi.waitFor(
      async () => {
        const builds =
          await serving.sql`select from pg_stat_progress_create_index where datname = current_database() and phase like 'waiting for %'`;
        expect(builds).not.toHaveLength(0);
      },
      { timeout: 30_000 },
    );
    await serving.sql`insert into large values (-1, '')`;
    await writer`commit`;
    writer.release();
    expect(await applied).toBe(1);
    const indexes = await serving.sql`
      select indexrelid::regclass::text as name, indisvalid as valid, indnkeyatts as columns from pg_index where indrelid = 'large'::regclass order by 1`;
    expect(indexes).toEqual([
      { name: "large_id", valid: true, columns: 2 },
      { name: "large_more", valid: true, columns: 1 },
    ]);
  });

  test("a migration that loses a deadlock is applied at the next try", async () => {
    const [serving, starting] = pools();
    const other = await serving.sql.reserve();
    await other`begin`;
    // The session that notices a deadlock first loses it.
    await other`set local deadlock_timeout = '1h'`;
    await other`lock table tasks in access exclusive mode`;
    next(`lock table projects in access exclusive mode; set local lock_timeout = 0;
      do $$ begin
        while exists (select from pg_locks where granted and relation = 'tasks'::regclass)
          and not exists (select from pg_locks where not granted and relation = 'projects'::regclass) loop
          perform pg_sleep(0.01);
        end loop;
      end $$;
      lock table tasks in access exclusive mode;`);
    const applied = migrate(starting, noLog, own);
    await vi.waitFor(
      async () => {
        const held = await serving.sql`
          select from pg_locks where granted and relation = 'projects'::regclass and mode = 'AccessExclusiveLock'`;
        expect(held).not.toHaveLength(0);
      },
      { timeout: 30_000 },
    );
    await other`lock table projects in access exclusive mode`;
    await other`commit`;
    other.release();
    expect(await applied).toBe(1);
  });
});
