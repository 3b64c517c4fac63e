import postgres from "postgres";
import { createDatabase } from "../../runtime/platform/database/test-database.ts";

export type Flavour = "embedded" | "postgres";

/** PostgreSQL if this run has it, otherwise the embedded database; for tests that do not depend on which it is. */
export const anyDatabase = (): Flavour => (process.env.TEST_DATABASE_URL ? "postgres" : "embedded");

export interface FreshDatabase {
  readonly url: string;
  /** Runs one statement on a separate connection, for example to end the service's sessions. */
  query(statement: string): Promise<Record<string, unknown>[]>;
  /** Makes the server end all sessions of the database and refuse new ones. */
  refuseConnections(): Promise<void>;
  acceptConnections(): Promise<void>;
  /** Ends all sessions of the database and removes it. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A separate database on `TEST_DATABASE_URL`, empty or with all migrations: for tests with the tag `postgres`. */
export async function freshDatabase(state: "empty" | "migrated" = "empty"): Promise<FreshDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set: give this test the tag "postgres"');
  const { url, drop } = await createDatabase(server, state);
  const name = new URL(url).pathname.slice(1);
  const refuseConnections = async () => {
    await onServer(server, `alter database "${name}" allow_connections false`);
    await onServer(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  };
  const acceptConnections = async () => void (await onServer(server, `alter database "${name}" allow_connections true`));
  const query = (statement: string) => onServer(url, statement);
  return { url, query, refuseConnections, acceptConnections, drop, [Symbol.asyncDispose]: drop };
}

async function onServer(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
