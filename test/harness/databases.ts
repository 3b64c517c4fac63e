import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { connectPostgres } from "../../runtime/platform/database/client.ts";
import { migrate } from "../../runtime/platform/database/migrate.ts";
import { schemaVersion } from "../../runtime/platform/database/test-folder.ts";
import type { Log } from "../../runtime/platform/log.ts";

export type Flavour = "embedded" | "postgres";

/** PostgreSQL if this run has it, otherwise the embedded database; for tests that do not depend on which it is. */
export const anyDatabase = (): Flavour => (process.env.TEST_DATABASE_URL ? "postgres" : "embedded");

export interface FreshDatabase {
  readonly url: string;
  /** Runs one statement on a separate connection, for example to end the service's sessions. */
  query(statement: string): Promise<Record<string, unknown>[]>;
  /** Ends all sessions of the database and removes it. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A separate database on `TEST_DATABASE_URL`, empty or with all migrations: for tests with the tag `postgres`. */
export async function freshDatabase(state: "empty" | "migrated" = "empty"): Promise<FreshDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set: give this test the tag "postgres"');
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  await onServer(server, `create database ${name}${state === "migrated" ? ` template ${await template(server)}` : ""}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = async () => void (await onServer(server, `drop database if exists ${name} with (force)`));
  return { url: url.href, query: (statement) => onServer(url.href, statement), drop, [Symbol.asyncDispose]: drop };
}

const silent: Log = { info() {}, warn() {}, error() {}, with: () => silent };
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
    await migrate(database, silent).finally(() => database.close());
    await sql.unsafe(`alter database ${making} rename to ${name}`);
    return name;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function onServer(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
