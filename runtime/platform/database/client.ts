import { constraintOf, type Fragment, type Queryable, type Row, type Sql, sqlState } from "./driver.ts";
import type { Embedded } from "./embedded.ts";
import { type Listening, listen } from "./listen.ts";
import { ConnectionPool } from "./pool.ts";
import { type StorageFailure, watchFull } from "./storage-failure.ts";
import { isUnavailable } from "./unavailable.ts";

export type { Fragment, Queryable, Row, Sql };
export { constraintOf, isUnavailable };

/** Busy and idle connections, and statements and transactions that wait for a connection. */
interface PoolUsage {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
}

export interface Database {
  readonly sql: Sql;
  /** For statements that may take long: migrations, index builds, erasures. The same as `sql` if there is only one session. */
  readonly longRunning: Sql;
  readonly kind: "postgres" | "embedded";
  /** Opens up to `max` more sessions with these settings, which `close` closes too. Absent if sessions cannot have settings. */
  readonly sessions?: (max: number, settings: Readonly<Record<string, string>>) => Sql;
  /**
   * Listens to a channel. `onReconnect`: messages may have been missed. `name`: the session's `application_name`, which every
   * account of the server can see. Absent if there is only one session.
   */
  readonly listen?: (
    channel: string,
    hear: (payload: string) => void,
    onReconnect: () => void,
    name?: string,
  ) => Promise<Listening>;
  /** Whether the connections of `listen` are sessions of the server itself, not of a pooler: they end with this process. */
  readonly keepsSessions: boolean;
  /** What does not work because of how the server is connected, and what to do; absent if all works. */
  readonly limitation?: string;
  /** When a statement last failed because the database cannot store data, `performance.now()`, and why; `null` if it is over. */
  lastFull(): StorageFailure | null;
  /** Call after storing data: the failure is over unless another one follows soon. */
  stored(): void;
  /** The current usage of the pool of `sql`. */
  usage(): PoolUsage;
  /** Sets the deadline of all statements, including those in flight, in milliseconds. Used when the service stops. */
  shortenDeadlines(ms: number): void;
  close(): Promise<void>;
}

/** Maximum time that this process waits for an answer, including the wait for a connection, in milliseconds. */
const deadlineMs = 9_000;
/**
 * Maximum duration of a statement on the server, in milliseconds. It is shorter, so that a connection survives a slow statement.
 */
const statementMs = 8_000;
const longRunningMs = 60 * 60_000;

/**
 * The first statements of every session. With them, the server detects a lost replica by itself and releases its locks. Isolation,
 * locks, arrays and the lifetime of sessions are those that the statements are written for, whatever the defaults of the database
 * or role are. Compiling a plan (`jit`) takes seconds for the longest statements, which run in less than one. `transaction_timeout`
 * exists since PostgreSQL 17.
 */
const firstOf = (statementTimeout: number, idleInTransaction: number) =>
  `set statement_timeout = ${statementTimeout}; set idle_in_transaction_session_timeout = ${idleInTransaction};
   set default_transaction_isolation = 'read committed'; set lock_timeout = 0; set idle_session_timeout = 0;
   set array_nulls = on; set transform_null_equals = off; set jit = off;
   select set_config('transaction_timeout', '0', false) where current_setting('transaction_timeout', true) is not null;
   set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; set tcp_user_timeout = 20000`;
const first = firstOf(statementMs, 15_000);

interface PostgresOptions {
  readonly max: number;
  /**
   * The same database without the pooler at `url`. The pooler assigns a server session only for one transaction, so its sessions
   * have no lasting settings, prepared statements, locks or notifications.
   */
  readonly direct?: string | undefined;
}

/**
 * A pool on a PostgreSQL server. A statement is answered within its deadline or fails as unavailable; the caller may retry it.
 */
export function connectPostgres(url: string, { max, direct }: PostgresOptions): Database {
  const pools: ConnectionPool[] = [];
  const { full, lastFull, stored } = watchFull();
  const open = (max: number, settings: Readonly<Record<string, string>>, more = {}) => {
    const pool = new ConnectionPool({ url, max, settings, first, deadlineMs, full, ...more });
    pools.push(pool);
    return pool.sql;
  };
  const sql = open(max, {}, direct === undefined ? {} : { first: null, prepare: false });
  const unlimited = {
    url: direct ?? url,
    first: firstOf(0, 0),
    deadlineMs: longRunningMs,
    idleMs: 10_000,
    probe: () => ping(sql),
  };
  const listening: Listening[] = [];
  return {
    sql,
    longRunning: open(2, {}, unlimited),
    kind: "postgres",
    ...(direct === undefined && { sessions: open }),
    keepsSessions: true,
    listen: async (channel, hear, onReconnect, name) => {
      const settings = name === undefined ? {} : { application_name: name };
      const one = await listen({ url: direct ?? url, settings, first, channel, hear, onReconnect });
      listening.push(one);
      return one;
    },
    lastFull,
    stored,
    usage: () => (pools[0] as ConnectionPool).usage,
    shortenDeadlines: (ms) => {
      for (const pool of pools) pool.shortenDeadlines(ms);
    },
    close: async () => {
      for (const one of listening) one.close();
      await Promise.all(pools.map((pool) => pool.close()));
    },
  };
}

/**
 * The same client on the embedded database. It serves one session, so the pool is one connection, and nothing may
 * query the pool while it holds a transaction: it would wait for itself. It is in this process, so there are no deadlines.
 */
export function connectEmbedded(embedded: Embedded): Database {
  const stream = () => embedded.connect();
  const { full, lastFull, stored } = watchFull();
  const pool = new ConnectionPool({ settings: {}, stream, max: 1, first: null, deadlineMs: Number.POSITIVE_INFINITY, full });
  const close = async () => {
    await pool.close();
    await embedded.close();
  };
  const { sql } = pool;
  return {
    sql,
    longRunning: sql,
    kind: "embedded",
    keepsSessions: false,
    lastFull,
    stored,
    usage: () => pool.usage,
    shortenDeadlines: () => {},
    close,
  };
}

/** A referenced row does not exist. */
export const isMissingReference = (error: unknown): boolean => sqlState(error) === "23503";
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === "23505";
/** Two transactions deadlocked and this one was rolled back; it can be repeated at once. */
export const isDeadlock = (error: unknown): boolean => ["40P01", "40001"].includes(sqlState(error) ?? "");
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03";
/** Rejects while the database does not answer. */
export const ping = (sql: Queryable): Promise<unknown> => sql`select 1`;
