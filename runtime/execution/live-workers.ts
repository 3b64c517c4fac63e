import type { Database } from "../platform/database/client.ts";
import type { Listening } from "../platform/database/listen.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import { findWorkers } from "./lease-queries.ts";

interface LiveWorkersOptions {
  readonly database: Database;
  readonly log: Log;
  /**
   * A worker counts as dead once its session has been missing at this many consecutive checks. Checks are counted instead of time,
   * because this process may have been frozen.
   */
  readonly missedChecks?: number;
}

/** Prefix of the names of workers that keep a session open. Leases of workers with other names end only by expiry. */
const prefix = "signalbox-worker-";
/** No messages are sent on this channel. */
const channel = "signalbox-worker";
/** Interval between two checks, in milliseconds. */
const checkEveryMs = 1_000;

/**
 * Finds workers that ended without releasing their leases. Each worker keeps a session that has its name; the server ends that
 * session with the process, and other workers see its name in the list of sessions. A worker that still runs, but is cut off from
 * the database for more than three seconds, loses its executions too. That is safe: a successor waits for writes that may be in
 * flight, whatever ended the lease. A frozen process keeps its session, and so its leases until they expire.
 */
export class LiveWorkers {
  readonly #name: string;
  /** Leases of a worker with this name end only by expiry. */
  readonly #unseenName = newId();
  readonly #options: LiveWorkersOptions;
  readonly #session: Listening | null;
  /** For each worker without a session, the number of consecutive checks at which it was missing. */
  #missing = new Map<string, number>();
  #loop: Loop | null = null;
  #isSeen = true;

  private constructor(options: LiveWorkersOptions, worker: string, session: Listening | null) {
    this.#options = options;
    this.#name = worker;
    this.#session = session;
  }

  /**
   * The name of this worker for a new lease, unique for each start of the process. While its session is missing, it returns
   * another name, because other workers would take all executions claimed under the usual one.
   */
  get worker(): string {
    return this.#isSeen ? this.#name : this.#unseenName;
  }

  /** `keepsSession`: whether a listening connection is a session of the server itself, not of a pooler. */
  static async open(options: LiveWorkersOptions, keepsSession: boolean): Promise<LiveWorkers> {
    const { listen } = options.database;
    if (!listen || !keepsSession) return new LiveWorkers(options, newId(), null);
    const worker = prefix + newId();
    const ignore = () => {};
    return new LiveWorkers(options, worker, await listen(channel, ignore, ignore, worker));
  }

  async close(): Promise<void> {
    await this.#loop?.stop();
    this.#session?.close();
  }

  /**
   * Checks repeatedly until it is closed. Calls `release` with the workers that have ended, and `releaseExpired` if a lease has
   * expired, for example that of a frozen worker.
   */
  watch(release: (deadWorkers: string[]) => Promise<void>, releaseExpired: () => Promise<void>): void {
    const { log } = this.#options;
    if (!this.#session) return;
    this.#loop = startLoop({
      everyMs: checkEveryMs,
      run: async () => {
        const { deadWorkers, expired } = await this.check();
        if (deadWorkers.length > 0) await release(deadWorkers);
        if (expired) await releaseExpired();
      },
      onError: (error) => {
        // Checks before an outage are not valid for the time after it.
        this.#missing.clear();
        log.warn("failed to look for workers that have exited", { error });
      },
    });
  }

  /** Checks once. `deadWorkers`: the workers that have leases and have no session. `expired`: whether a lease has expired. */
  async check(): Promise<{ deadWorkers: string[]; expired: boolean }> {
    const { database, missedChecks = 4 } = this.#options;
    const workers = await findWorkers(database.sql, prefix);
    const presentWorkers = new Set(workers.present);
    // If a worker does not see its own session, it is cut off, or the server has just ended all sessions.
    this.#isSeen = presentWorkers.has(this.#name);
    const missing = this.#isSeen ? workers.holding.filter((worker) => !presentWorkers.has(worker)) : [];
    this.#missing = new Map(missing.map((worker) => [worker, (this.#missing.get(worker) ?? 0) + 1]));
    return {
      deadWorkers: missing.filter((worker) => (this.#missing.get(worker) ?? 0) >= missedChecks),
      expired: workers.expired,
    };
  }
}
