import postgres from "postgres";
import type { Embedded } from "./embedded.ts";

export type Sql = postgres.Sql<Record<string, never>>;
/** What a query function takes: the pool, or a transaction of it. */
export type Queryable = Sql | postgres.TransactionSql<Record<string, never>>;
export type Row = postgres.Row;
/** A part of a statement, made as one is. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

export interface Database {
  readonly sql: Sql;
  readonly kind: "postgres" | "embedded";
  /** At most so many further sessions with settings of their own, closed with the rest; where there is one session only, absent. */
  readonly sessions?: (max: number, settings: Readonly<Record<string, string>>) => Sql;
  close(): Promise<void>;
}

const shared = {
  onnotice: () => {},
  // A row is the API's answer: timestamps as ISO 8601 in UTC, 64-bit counts as numbers.
  types: {
    timestamp: {
      to: 1184,
      from: [1184] as number[],
      serialize: (value: Date | string) => (value instanceof Date ? value.toISOString() : value),
      parse: (value: string) => new Date(value).toISOString(),
    },
    bigint: { to: 20, from: [20] as number[], serialize: String, parse: Number },
  },
};

/** A pool on a PostgreSQL server. It reconnects by itself; a query on a dead connection fails and may be tried again. */
export function connectPostgres(url: string, options: { max: number }): Database {
  const pool = (max: number, settings: Readonly<Record<string, string>>) =>
    postgres(url, {
      ...shared,
      max,
      connect_timeout: 10,
      connection: { application_name: "signalbox", TimeZone: "UTC", ...settings },
    }) as unknown as Sql;
  const sql = pool(options.max, {});
  const all = [sql];
  const sessions = (max: number, settings: Readonly<Record<string, string>>) => {
    const further = pool(max, settings);
    all.push(further);
    return further;
  };
  return {
    sql,
    kind: "postgres",
    sessions,
    close: async () => void (await Promise.all(all.map((one) => one.end({ timeout: 5 })))),
  };
}

/**
 * The same client on the embedded database. It serves one session, so the pool is one connection, and nothing may
 * query the pool while it holds a transaction: it would wait for itself.
 */
export function connectEmbedded(embedded: Embedded): Database {
  const sql = postgres({
    ...shared,
    max: 1,
    fetch_types: true,
    // A session in this process need not be renewed; the timer would outlive it.
    max_lifetime: null,
    // Undocumented but stable option of postgres.js: makes the stream that a connection speaks over.
    socket: () => embedded.connect(),
    connection: { application_name: "signalbox", TimeZone: "UTC" },
  } as postgres.Options<Record<string, postgres.PostgresType>>) as unknown as Sql;
  const close = async () => {
    await sql.end({ timeout: 5 });
    await embedded.close();
  };
  return { sql, kind: "embedded", close };
}

/** SQLSTATE of a failed query, for example 23505 for a broken unique constraint; `null` for any other error. */
const sqlState = (error: unknown): string | null => (error instanceof postgres.PostgresError ? error.code : null);
/** A row that another one refers to is not there. */
export const isMissingReference = (error: unknown): boolean => sqlState(error) === "23503";
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === "23505";
/** Two transactions waited for each other and this one was undone, whole: it may be made again at once. */
export const isDeadlock = (error: unknown): boolean => ["40P01", "40001"].includes(sqlState(error) ?? "");
/** Name of the constraint that a query broke. */
export const constraintOf = (error: unknown): string | null =>
  error instanceof postgres.PostgresError ? (error.constraint_name ?? null) : null;

/** Rejects while the database does not answer. */
export const ping = (sql: Queryable): Promise<unknown> => sql`select 1`;

const unavailable = new Set([
  ...["CONNECT_TIMEOUT", "CONNECTION_CLOSED", "CONNECTION_ENDED", "CONNECTION_DESTROYED"],
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTFOUND", "ETIMEDOUT", "EHOSTUNREACH"],
  // shutting down, crashed, starting up, too many clients
  ...["57P01", "57P02", "57P03", "53300"],
]);

/** Whether a query failed because the server could not be reached: it may be tried again later. */
export const isUnavailable = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && unavailable.has(String(error.code));
