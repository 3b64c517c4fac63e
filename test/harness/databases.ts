import { randomBytes } from "node:crypto";
import postgres from "postgres";

export type Flavour = "embedded" | "postgres";

/** PostgreSQL if this run has it, else the embedded database: for what does not depend on which it is. */
export const anyDatabase = (): Flavour => (process.env.TEST_DATABASE_URL ? "postgres" : "embedded");

export interface FreshDatabase {
  readonly url: string;
  /** Runs one statement on a connection of its own, for example to end the service's sessions. */
  query(statement: string): Promise<Record<string, unknown>[]>;
  /** Ends all sessions on it and removes it. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An empty database of the test's own on `TEST_DATABASE_URL`: for tests with the tag `postgres`. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set: give this test the tag "postgres"');
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  await onServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = async () => void (await onServer(server, `drop database if exists ${name} with (force)`));
  return { url: url.href, query: (statement) => onServer(url.href, statement), drop, [Symbol.asyncDispose]: drop };
}

async function onServer(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
