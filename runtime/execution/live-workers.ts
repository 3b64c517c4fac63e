import type { Database } from "../platform/database/client.ts";
import type { Listening } from "../platform/database/listen.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import { findWorkers } from "./lease-queries.ts";

export interface LiveWorkersOptions {
  readonly database: Database;
  readonly log: Log;
  /** Interval of the looks, milliseconds. */
  readonly pollMs?: number;
  /** A worker is gone once its session was missing at so many looks in a row. Looks, not time: this process may have been frozen. */
  readonly looks?: number;
}

/** Prefix of the name of a worker that keeps a session open. The leases of others only end by their time. */
const prefix = "signalbox-worker-";
/** Nothing is sent on it. */
const channel = "signalbox-worker";

/**
 * Finds workers that ended without releasing their leases. Each worker keeps a session that has its name; the server ends that session
 * with the process, and other workers see its name in the list of sessions. A worker that still runs, but is cut off from the database for
 * more than three seconds, loses its executions too. That is safe: a successor waits for writes that may be in flight, whatever ended
 * the lease. A frozen process keeps its session, and so its leases until they expire.
 */
export class LiveWorkers {
  readonly #name: string;
  /** Leases of this name end only by their time. */
  readonly #unseenName = newId();
  readonly #options: LiveWorkersOptions;
  readonly #session: Listening | null;
  /** At how many looks in a row each worker without a session was missing. */
  #missing = new Map<string, number>();
  #loop: Loop | null = null;
  #isSeen = true;

  private constructor(options: LiveWorkersOptions, worker: string, session: Listening | null) {
    this.#options = options;
    this.#name = worker;
    this.#session = session;
  }

  /**
   * The name of this worker for a new lease, unique for each start of the process. Another one while its session is missing: the other
   * workers would take all that it claims.
   */
  get worker(): string {
    return this.#isSeen ? this.#name : this.#unseenName;
  }

  /** `keepsSession`: a connection that listens is a session of the server itself, not of a pooler. */
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

  /** Looks until it is closed, and calls `release` with the workers that are gone. */
  watch(release: (gone: string[]) => Promise<void>): void {
    const { pollMs = 1_000, log } = this.#options;
    if (!this.#session) return;
    this.#loop = startLoop({
      everyMs: pollMs,
      run: async () => {
        const gone = await this.look();
        if (gone.length > 0) await release(gone);
      },
      failed: (error) => {
        // Looks before an outage say nothing about the time after it.
        this.#missing.clear();
        log.warn("failed to look for workers that have ended", { error });
      },
    });
  }

  /** Looks once. Returns the workers that hold leases and are gone. */
  async look(): Promise<string[]> {
    const { database, looks = 4 } = this.#options;
    const found = await findWorkers(database.sql, prefix);
    const present = new Set(found.present);
    // A worker that does not see itself is cut off itself, or the server has just ended all sessions.
    this.#isSeen = present.has(this.#name);
    const missing = this.#isSeen ? found.holding.filter((worker) => !present.has(worker)) : [];
    this.#missing = new Map(missing.map((worker) => [worker, (this.#missing.get(worker) ?? 0) + 1]));
    return missing.filter((worker) => (this.#missing.get(worker) ?? 0) >= looks);
  }
}
