import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Queryable } from "./driver.ts";

interface ListenOptions extends Pick<ConnectionOptions, "url" | "settings" | "first"> {
  readonly channel: string;
  readonly hear: (payload: string) => void;
  /** Called after each reconnection, because messages may have been missed. */
  readonly onReconnect: () => void;
}

export interface Listening {
  close(): void;
}

/** Interval of the checks whether the server still answers, and the timeout of a check; milliseconds. */
const heartbeatMs = 4_000;
const answerMs = 4_000;
const againMs = 500;
const checkMs = 500;

/**
 * Listens to a channel on a separate connection, and reconnects if the connection is lost or does not answer. Resolves once it
 * listens.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const now = () => performance.now();
  const statement = `listen "${options.channel}"`;
  let ended = false;
  let connection: Connection | undefined;
  let timer: NodeJS.Timeout | undefined;
  const later = (ms: number, then: () => void) => {
    if (!ended) timer = setTimeout(then, ms);
    timer?.unref();
  };
  const subscribe = (on: Connection) => on.run((driver) => driver.unsafe(statement), now() + answerMs);
  // Repeating LISTEN has no effect, and keeps it the last statement of the session, by which replicas are counted.
  const beat = (on: Connection) => subscribe(on).then(() => later(heartbeatMs, () => beat(on)), on.close.bind(on));
  const open = async (onClose: () => void) => {
    const next = new Connection({
      ...options,
      now,
      deadlineMs: answerMs,
      onNotification: options.hear,
      onAnswer: () => {},
      onClose,
    });
    connection = next;
    try {
      await next.open(answerMs);
      await subscribe(next);
    } catch (error) {
      next.close();
      throw error;
    }
    later(heartbeatMs, () => void beat(next));
  };
  const reopen = () => {
    clearTimeout(timer);
    later(againMs, () => open(reopen).then(options.onReconnect, () => {}));
  };
  const check = setInterval(() => connection?.check(), checkMs);
  check.unref();
  try {
    let opened = false;
    await open(() => opened && reopen());
    opened = true;
  } catch (error) {
    clearInterval(check);
    throw error;
  }
  return {
    close: () => {
      ended = true;
      clearTimeout(timer);
      clearInterval(check);
      connection?.close();
    },
  };
}

/**
 * Number of connections that listen to a channel of this database, one for each replica. Counts only sessions that the role may
 * see.
 */
export async function countListeners(sql: Queryable, channel: string): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query ilike 'listen ' || ${`"${channel}"`}::text`;
  return row.n;
}

/** Sends messages in one transaction, in their order. */
export const notifyListeners = (sql: Queryable, channel: string, messages: readonly string[]): PromiseLike<unknown> =>
  sql`select pg_notify(${channel}, message) from unnest(${messages as string[]}::text[]) as message`;
