import postgres from "postgres";
import { createDatabase } from "../../runtime/platform/database/test-database.ts";

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
  const { url, drop } = await createDatabase(server, state);
  return { url, query: (statement) => onServer(url, statement), drop, [Symbol.asyncDispose]: drop };
}

async function onServer(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
