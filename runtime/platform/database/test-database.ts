import { randomBytes } from "node:crypto";
import postgres from "postgres";
import type { Log } from "../log.ts";
import { connectPostgres, type Database } from "./client.ts";
import { migrate } from "./migrate.ts";
import { schemaVersion } from "./test-folder.ts";

/** The real server for tests of behaviour that the embedded database cannot show, because it has only one session. */
export const testServer = process.env.TEST_DATABASE_URL;
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };

export interface TestDatabase {
  /** One pool for each requested replica. */
  readonly pools: readonly Database[];
  drop(): Promise<void>;
}

/** A separate migrated database on `testServer`. `max`: maximum number of connections of each pool. */
export async function testDatabase(server: string, { replicas, max }: { replicas: number; max: number }): Promise<TestDatabase> {
  const { url, drop } = await createDatabase(server, "migrated");
  const pools = Array.from({ length: replicas }, () => connectPostgres(url, { max }));
  return {
    pools,
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await drop();
    },
  };
}

/** A separate database, empty or with all migrations. `drop` ends all its sessions and removes it. */
export async function createDatabase(
  server: string,
  state: "empty" | "migrated",
): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  const sql = sessionOn(server);
  await sql.unsafe(`create database ${name}${state === "migrated" ? ` template ${await template(server)}` : ""}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: async () => void (await sql.unsafe(`drop database if exists ${name} with (force)`)) };
}

let session: postgres.Sql | undefined;

/** The session that creates and drops databases. All tests of this process share it; it ends 30 seconds after its last use. */
const sessionOn = (server: string): postgres.Sql =>
  (session ??= postgres(server, { max: 1, idle_timeout: 30, onnotice: () => {} }));

let made: Promise<string> | undefined;

/** The name of a database with all migrations. It is created once for all tests of a server, and kept for later runs. */
const template = (server: string): Promise<string> => (made ??= makeTemplate(server));

async function makeTemplate(server: string): Promise<string> {
  const name = `test_template_${schemaVersion()}`;
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    // One of the test workers that start at the same time creates it.
    await sql`select pg_advisory_lock(hashtext(${name}))`;
    if ((await sql`select from pg_database where datname = ${name}`).length > 0) return name;
    const making = `${name}_${process.pid}`;
    await sql.unsafe(`drop database if exists ${making}`);
    await sql.unsafe(`create database ${making}`);
    const url = new URL(server);
    url.pathname = `/${making}`;
    const database = connectPostgres(url.href, { max: 2 });
    await migrate(database, noLog).finally(() => database.close());
    await sql.unsafe(`alter database ${making} rename to ${name}`);
    return name;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
