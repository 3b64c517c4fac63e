import { randomBytes } from "node:crypto";
import postgres from "postgres";

export type Flavour = "embedded" | "postgres";

/**
 * The databases that this run can test on; with PostgreSQL where `TEST_DATABASE_URL` says where it is.
 * With `REQUIRE_SERVICES=1` its absence is an error: nothing is passed over in silence.
 */
export function databases(): Flavour[] {
  if (process.env.TEST_DATABASE_URL) return ["embedded", "postgres"];
  if (process.env.REQUIRE_SERVICES === "1") throw new Error("REQUIRE_SERVICES=1, but TEST_DATABASE_URL is not set");
  return ["embedded"];
}

export interface FreshDatabase {
  readonly url: string;
  /** Runs one statement on a connection of its own, for example to end the service's sessions. */
  query(statement: string): Promise<Record<string, unknown>[]>;
  /** Ends all sessions on it and removes it. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An empty database of its own on `TEST_DATABASE_URL`; `null` where that is not set, see `databases`. */
export async function freshDatabase(): Promise<FreshDatabase | null> {
  const server = process.env.TEST_DATABASE_URL;
  if (!databases().includes("postgres") || !server) return null;
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  await onServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = async () => void (await onServer(server, `drop database if exists ${name} with (force)`));
  return { url: url.href, query: (statement) => onServer(url.href, statement), drop, [Symbol.asyncDispose]: drop };
}

/** The same for a test that runs only where there is PostgreSQL. */
export async function realDatabase(): Promise<FreshDatabase> {
  const database = await freshDatabase();
  if (!database) throw new Error("TEST_DATABASE_URL is not set: guard this test by databases()");
  return database;
}

async function onServer(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
