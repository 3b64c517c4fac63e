import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Address, openDriver, type Sql, sqlState } from "./driver.ts";
import type { Build } from "./statement.ts";
import { cannotStore, DatabaseUnavailable, isNetworkError, isReadOnly, isUnavailable } from "./unavailable.ts";

export interface ConnectionOptions {
  readonly url?: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The first statements of a new session. */
  readonly first: string | null;
  /** Whether the session keeps prepared statements. Default: `true`. */
  readonly prepare?: boolean | undefined;
  /** Opens the stream to the server. Default: a TCP connection. */
  readonly stream?: () => Duplex;
  /** A clock in milliseconds that advances only while this process runs. */
  readonly now: () => number;
  /** Maximum time from passing a statement to the pool until its answer, in milliseconds. */
  readonly deadlineMs: number;
  /** Called when a statement was answered. */
  readonly onAnswer: (connection: Connection) => void;
  /** Called when the connection accepts no more statements. `late`: the server did not answer in time. */
  readonly onClose: (connection: Connection, reason: Error, late: boolean) => void;
  readonly onNotification?: (payload: string) => void;
  /** The server answered that it cannot store data. */
  readonly full?: (error: Error) => void;
}

interface Pending {
  until: number;
  readonly fail: (error: Error) => void;
}

/** One session of the server. It never reconnects: after a failure, the pool opens another. */
export class Connection {
  readonly born = performance.now();
  /** Whether it belongs to a transaction or is reserved. */
  exclusive = false;
  readonly #options: ConnectionOptions;
  readonly #driver: Sql;
  readonly #pending = new Set<Pending>();
  #socket: Duplex | undefined;
  #place = "embedded";
  #ended: Error | undefined;
  #statements = 0;
  #discardAt = firstDiscard;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#driver = openDriver({
      ...(options.url !== undefined && { url: options.url }),
      settings: options.settings,
      prepare: options.prepare,
      socket: (address) => this.#connect(address),
      onClose: () => this.#lost(),
      ...(options.onNotification && { onNotification: options.onNotification }),
    });
  }

  /** Number of unanswered statements. */
  get load(): number {
    return this.#pending.size;
  }

  /** Resolves once the session is ready. */
  async open(limitMs: number): Promise<void> {
    const { first, now } = this.#options;
    if (first !== null) await this.run((driver) => driver.unsafe(first), now() + limitMs);
  }

  run(build: Build, until = this.#options.now() + this.#options.deadlineMs): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (++this.#statements === this.#discardAt && this.#options.prepare !== false) this.#discardPlans();
    return new Promise((done, fail) => {
      const pending = { until, fail };
      this.#pending.add(pending);
      const end = () => {
        if (this.#pending.delete(pending) && !this.#ended) this.#options.onAnswer(this);
      };
      build(this.#driver).then(
        (result) => {
          done(result);
          end();
        },
        (thrown) => {
          const error = this.#named(thrown);
          fail(error);
          if (cannotStore(error)) this.#options.full?.(error);
          // No more statements may be sent on a connection that is lost, or whose server has become a standby.
          const isLost = isUnavailable(error) && !cannotStore(error) && sqlState(error) !== queryCancelledCode;
          if (isLost || isReadOnly(error)) this.#end(error, false);
          end();
        },
      );
    });
  }

  /** Ends the connection if an answer is overdue, because no later answer can arrive either. */
  check(): void {
    const now = this.#options.now();
    if ([...this.#pending].some(({ until }) => until <= now)) this.#end(new DatabaseUnavailable(overdue), true);
  }

  /** Limits the remaining time of statements in flight. */
  shortenDeadlines(ms: number): void {
    const until = this.#options.now() + ms;
    for (const one of this.#pending) one.until = Math.min(one.until, until);
  }

  /** Closes in an orderly way if no statement is in flight, otherwise immediately. */
  close(reason: Error = new DatabaseUnavailable("The connection to the database was closed.")): void {
    this.#end(reason, false);
  }

  /**
   * Makes the session plan its statements again, because a plan that was made while a table was small reads all of it, however large
   * it becomes. PostgreSQL itself replaces a plan only when the statistics change: a server updates them every minute, the embedded
   * database never.
   */
  #discardPlans(): void {
    this.#discardAt += Math.min(this.#statements, mostBetweenDiscards);
    // It changes nothing for others. If it fails, so does the statement that follows.
    this.#driver.unsafe("discard plans").catch(() => {});
  }

  #end(reason: Error, late: boolean): void {
    if (this.#ended) return;
    const isOrderly = this.#pending.size === 0;
    this.#ended = reason;
    for (const { fail } of this.#pending) fail(reason);
    this.#pending.clear();
    this.#driver.end({ timeout: 0 }).catch(() => {});
    // If the server does not respond, the connection would never end on its own.
    if (isOrderly) setTimeout(() => this.#socket?.destroy(), closeTimeoutMs).unref();
    else this.#socket?.destroy();
    this.#options.onClose(this, reason, late);
  }

  /** A network failure as the error that all code checks for. */
  #named(error: Error): Error {
    if (!isNetworkError(error)) return error;
    return new DatabaseUnavailable(`The database is unavailable (${this.#place}, ${error.code}).`, { cause: error });
  }

  #lost(): void {
    // The driver rejects the statements that it still knows with a more precise error; those that it has forgotten get this one.
    setImmediate(() => this.#end(new DatabaseUnavailable(connectionLost), false));
  }

  #connect(address: Address): Duplex {
    if (this.#ended || this.#socket) {
      this.#lost();
      throw new DatabaseUnavailable(connectionLost);
    }
    if (this.#options.stream) this.#socket = this.#options.stream();
    else {
      const { socket, place } = connectTo(address);
      this.#socket = socket;
      this.#place = place;
    }
    return this.#socket;
  }
}

/** SQLSTATE of a statement that exceeded the server's timeout. Its session remains usable. */
const queryCancelledCode = "57014";
const connectionLost = "The connection to the database was lost.";
const overdue = "The database did not answer in time.";
const closeTimeoutMs = 1_000;
/** Number of statements after which a session plans again, the first time; then after twice as many, up to a maximum. */
const firstDiscard = 50;
const mostBetweenDiscards = 8_000;
let nextHost = 0;

/** Connects to one of the hosts; the next connection tries the next. */
function connectTo(address: Address): { socket: Socket; place: string } {
  if (address.path) return { socket: connect(address.path), place: address.path };
  const at = nextHost++ % address.host.length;
  const [host = "localhost", port = 5432] = [address.host[at], address.port[at]];
  // The driver would report only the failure of the last host.
  address.host = [host];
  address.port = [port];
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 });
  // The driver reads it for TLS.
  return { socket: Object.assign(socket, { host }), place: `${host}:${port}` };
}
