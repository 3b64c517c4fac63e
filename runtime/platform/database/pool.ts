import { setTimeout as sleep } from "node:timers/promises";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Sql } from "./driver.ts";
import { type Run, sqlOver } from "./statement.ts";
import { type ExclusiveConnection, inTransaction, untilReleased } from "./transaction.ts";
import { DatabaseUnavailable, isUnavailable } from "./unavailable.ts";

interface PoolOptions
  extends Pick<ConnectionOptions, "url" | "settings" | "first" | "prepare" | "stream" | "deadlineMs" | "full"> {
  readonly max: number;
  /** How long statements wait for one of the open connections before another is opened, in milliseconds. Default: 20. */
  readonly growAfterMs?: number;
  /** Milliseconds after which an unused connection is closed. */
  readonly idleMs?: number;
  /** Called while a statement takes long, to probe the server. Rejects if the server does not respond at all. */
  readonly probe?: () => PromiseLike<unknown>;
}

/** Maximum time until a new session is ready, in milliseconds. */
const openMs = 5_000;
/** Interval between further connection attempts while none has succeeded: a lost packet causes no long wait. Milliseconds. */
const againMs = 1_000;
/** Maximum number of statements in flight on one connection. */
const maxPending = 100;
const tickMs = 250;
const lifetimeMs = 45 * 60_000;
const probeMs = 5_000;

interface Waiter {
  until: number;
  readonly exclusive: boolean;
  /** Number of connection attempts that had begun when the statement started to wait. */
  readonly before: number;
  readonly take: (connection: Connection) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Connections to one server. A statement that gets no answer by its deadline is rejected as unavailable, and its connection
 * is replaced.
 */
export class ConnectionPool {
  readonly sql: Sql;
  readonly #options: PoolOptions;
  #deadlineMs: number;
  readonly #open = new Set<Connection>();
  /** Connections that are being opened, with the number of the attempt. */
  readonly #opening = new Map<Connection, number>();
  #attempts = 0;
  readonly #idleSince = new Map<Connection, number>();
  #waiting: Waiter[] = [];
  #now = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #probedAt = 0;
  #closed: Error | undefined;
  readonly #timer: NodeJS.Timeout;
  #growing: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs;
    let last = performance.now();
    // Time during which the process was stopped or busy does not count, because it may not have read the answers yet.
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#now += Math.min(now - last, 2 * tickMs);
      last = now;
      this.#tick();
    }, tickMs);
    this.#timer.unref();
    this.sql = sqlOver((build) => this.#run(build), {
      begin: async (work: (tx: Sql) => Promise<unknown>) => inTransaction(await this.#hold(), work),
      reserve: () => this.#reserve(),
      end: ({ timeout = 0 }: { timeout?: number } = {}) => this.close(timeout * 1000),
    });
  }

  get usage() {
    const busy = [...this.#open].filter(({ load, exclusive }) => load > 0 || exclusive).length;
    return { busy, idle: this.#open.size - busy, waiting: this.#waiting.length };
  }

  /** Rejects waiting statements, and ends running ones after `graceMs`. */
  async close(graceMs = 2_000): Promise<void> {
    if (this.#closed) return;
    this.#closed = new DatabaseUnavailable("The connection to the database was closed.");
    for (const { fail } of this.#waiting.splice(0)) fail(this.#closed);
    const end = performance.now() + graceMs;
    while (this.usage.busy > 0 && performance.now() < end) await sleep(20);
    clearInterval(this.#timer);
    clearTimeout(this.#growing);
    for (const connection of [...this.#open, ...this.#opening.keys()]) connection.close(this.#closed);
  }

  /** Shortens the deadline, also of running statements. */
  shortenDeadlines(ms: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, ms);
    for (const connection of this.#open) connection.shortenDeadlines(ms);
    for (const waiter of this.#waiting) waiter.until = Math.min(waiter.until, this.#now + ms);
  }

  #run: Run = (build) => {
    const until = this.#now + this.#deadlineMs;
    const connection = this.#closed || this.#waiting.length > 0 ? undefined : this.#free();
    if (connection) return connection.run(build, until);
    return this.#wait(until, false, (free) => free.run(build, until));
  };

  #wait<T>(until: number, exclusive: boolean, use: (connection: Connection) => T | PromiseLike<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((done, fail) => {
      // Passed on synchronously, so that no other caller gets it in between.
      this.#waiting.push({ until, exclusive, before: this.#attempts - 1, fail, take: (connection) => done(use(connection)) });
      if (this.#open.size === 0) this.#grow();
      this.#serve();
      if (this.#waiting.length > 0) this.#growLater();
    });
  }

  /** An unused connection. If the pool is full and all are in use, the one with the fewest statements in flight. */
  #free(): Connection | undefined {
    let least: Connection | undefined;
    for (const one of this.#open) if (!one.exclusive && (!least || one.load < least.load)) least = one;
    if (!least || least.load === 0) return least;
    const full = this.#open.size + this.#opening.size >= this.#options.max;
    return full && least.load < maxPending ? least : undefined;
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#free();
      if (!connection) return;
      const waiter = this.#waiting.shift() as Waiter;
      if (waiter.exclusive) connection.exclusive = true;
      waiter.take(connection);
    }
  }

  /** Statements that begin together share the open connections, unless these stay in use. */
  #growLater(): void {
    this.#growing ??= setTimeout(() => {
      this.#growing = undefined;
      this.#grow();
    }, this.#options.growAfterMs ?? 20);
  }

  /** Opens one at a time, because a new session costs the server more than most statements. A silent attempt delays no other. */
  #grow(): void {
    const room = this.#open.size + this.#opening.size < this.#options.max;
    const isOpening = [...this.#opening.keys()].some(({ born }) => performance.now() - born < tickMs);
    if (this.#waiting.length > 0 && room && !isOpening) this.#connect();
  }

  #connect(): void {
    this.#openedAt = this.#now;
    const connection = new Connection({
      ...this.#options,
      deadlineMs: this.#deadlineMs,
      now: () => this.#now,
      onAnswer: (one) => this.#answered(one),
      onClose: (one, reason, late) => this.#gone(one, reason, late),
    });
    this.#opening.set(connection, this.#attempts++);
    connection.open(openMs).then(
      () => {
        if (!this.#opening.delete(connection)) return;
        this.#open.add(connection);
        this.#answered(connection);
        if (this.#waiting.length > 0) this.#growLater();
      },
      (error) => connection.close(error),
    );
  }

  #answered(connection: Connection): void {
    if (!this.#open.has(connection)) return;
    if (this.#waiting.length > 0) this.#serve();
    if (connection.load > 0 || connection.exclusive) return;
    if (performance.now() - connection.born > lifetimeMs && this.#open.size > 1) connection.close();
    else if (this.#options.idleMs !== undefined) this.#idleSince.set(connection, this.#now);
  }

  #gone(connection: Connection, reason: Error, late: boolean): void {
    this.#idleSince.delete(connection);
    const attempt = this.#opening.get(connection);
    if (attempt !== undefined) {
      this.#opening.delete(connection);
      this.#failedToOpen(attempt, late, reason);
    }
    this.#open.delete(connection);
    // Other connections to a server that does not respond are probably dead too, so callers get new ones.
    if (late) for (const one of this.#open) if (one.load === 0 && !one.exclusive) one.close();
    // Later if it was refused while others are open: the server may have too many connections.
    if (this.#closed) return;
    if (this.#open.size > 0) this.#growLater();
    else this.#grow();
  }

  /** Rejects waiting statements if the server refused the connection. If it did not answer, another attempt may succeed. */
  #failedToOpen(attempt: number, late: boolean, reason: Error): void {
    if (this.#open.size > 0 || late) return;
    const refused = this.#waiting.filter(({ before }) => before < attempt);
    this.#waiting = this.#waiting.filter(({ before }) => before >= attempt);
    for (const { fail } of refused) fail(reason);
  }

  #tick(): void {
    for (const connection of [...this.#open, ...this.#opening.keys()]) connection.check();
    const late = this.#waiting.filter(({ until }) => until <= this.#now);
    this.#waiting = this.#waiting.filter(({ until }) => until > this.#now);
    for (const { fail } of late) fail(new DatabaseUnavailable("Timed out waiting for a database connection."));
    if (this.#waiting.length > 0) {
      if (this.#open.size > 0 || this.#now - this.#openedAt >= againMs) this.#grow();
      this.#serve();
    }
    for (const [connection, since] of this.#idleSince) {
      if (connection.load > 0 || connection.exclusive) this.#idleSince.delete(connection);
      else if (this.#now - since >= (this.#options.idleMs ?? 0)) connection.close();
    }
    this.#probe();
  }

  #probe(): void {
    const { probe } = this.#options;
    const busy = [...this.#open].filter(({ load }) => load > 0);
    if (!probe || busy.length === 0 || this.#now - this.#probedAt < probeMs) return;
    this.#probedAt = this.#now;
    probe().then(undefined, (error) => {
      if (isUnavailable(error)) for (const one of busy) one.close(error);
    });
  }

  /** A connection for exclusive use. Earlier statements on it finish first. */
  async #hold(): Promise<ExclusiveConnection> {
    const until = this.#now + this.#deadlineMs;
    const connection = await this.#wait(until, true, (free) => free);
    return untilReleased({
      run: (build) => connection.run(build, this.#now + this.#deadlineMs),
      release: () => {
        connection.exclusive = false;
        this.#answered(connection);
      },
    });
  }

  async #reserve() {
    const { run, release } = await this.#hold();
    return sqlOver(run, { release });
  }
}
