import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { isUnavailable } from "../platform/database/unavailable.ts";
import { newId } from "../platform/ids.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import {
  appendResults,
  appendUnknown,
  deleteOpenChanges,
  findLeftovers,
  insertOpenChanges,
  type OpenChange,
  type Result,
} from "./open-change-queries.ts";

interface ChangeRecorderOptions {
  /** Id of this replica. A process that is none uses a new one. */
  readonly replica: string;
  /** Called when a result could not be appended. */
  readonly onError: (error: unknown) => void;
}

/** Interval between two checks, in milliseconds. */
const checkEveryMs = 10_000;
/**
 * The result of a change is unknown once its replica has been missing at this many consecutive checks. After an outage of the
 * database, the heartbeats of all replicas are late.
 */
const missedChecks = 3;
const batches = { maxItems: 64, concurrency: 1 } as const;

/**
 * Records changes in the audit log, so that none is without an entry: a change is stored before it begins, and the statement that
 * appends its result ends it. If the process ends in between, another replica appends that the result is unknown.
 */
export class ChangeRecorder {
  readonly #options: ChangeRecorderOptions;
  /** The open changes of this process, with the results that could not be appended. */
  readonly #open = new Map<string, string | null>();
  /** For each change whose replica has ended, the number of consecutive checks at which it was missing. */
  #missing = new Map<string, number>();
  readonly #insert: (change: OpenChange & { sql: Sql }) => Promise<null>;
  readonly #append: (result: Result & { sql: Sql }) => Promise<null>;

  constructor(options: ChangeRecorderOptions) {
    this.#options = options;
    this.#insert = inBatches((sql, changes) => insertOpenChanges(sql, options.replica, changes));
    this.#append = inBatches((sql, results) => appendResults(sql, results));
  }

  /** Stores a change that is about to begin, and returns its id. Rejects if it cannot be stored: then the change must not begin. */
  async begin(sql: Sql, entry: string): Promise<string> {
    const id = newId();
    this.#open.set(id, null);
    try {
      await this.#insert({ sql, id, entry });
    } catch (error) {
      // It may be stored without an answer. Then a check removes it.
      this.#open.delete(id);
      throw error;
    }
    return id;
  }

  /** Ends a change that changed nothing. If this fails, a check removes it. */
  async discard(sql: Sql, id: string): Promise<void> {
    this.#open.delete(id);
    await deleteOpenChanges(sql, [id]).catch(() => {});
  }

  /** Appends an entry that ends no change. */
  append(sql: Sql, entry: string): Promise<unknown> {
    return this.#append({ sql, id: null, entry });
  }

  /** Appends the result of a change and ends it. If this fails, it is repeated at each check. `null`: no change was stored. */
  async record(sql: Sql, id: string | null, entry: string): Promise<void> {
    try {
      await this.#append({ sql, id, entry });
      if (id !== null) this.#open.delete(id);
    } catch (error) {
      if (id !== null) this.#open.set(id, entry);
      this.#options.onError(error);
    }
  }

  /**
   * Checks repeatedly, so that each change gets its entry. `silentSeconds`: after how many seconds without a heartbeat a replica counts
   * as ended.
   */
  watch(sql: Sql, silentSeconds: number, everyMs = checkEveryMs): Pick<Loop, "stop"> {
    const run = () => this.check(sql, silentSeconds);
    // Checks before an outage are not valid for the time after it. The database's own failures are reported by others.
    const loop = startLoop({ everyMs, run, onError: () => this.#missing.clear() });
    return {
      stop: async () => {
        await loop.stop();
        await this.#appendLate(sql);
      },
    };
  }

  /** Checks once. */
  async check(sql: Sql, silentSeconds: number): Promise<void> {
    await this.#appendLate(sql);
    const found = await findLeftovers(sql, { replica: this.#options.replica, open: [...this.#open.keys()], silentSeconds });
    const own = found.filter((one) => one.is_own).map(({ id }) => id);
    if (own.length > 0) await deleteOpenChanges(sql, own);
    const ofEnded = found.filter((one) => !one.is_own).map(({ id }) => id);
    this.#missing = new Map(ofEnded.map((id) => [id, (this.#missing.get(id) ?? 0) + 1]));
    const unknown = ofEnded.filter((id) => (this.#missing.get(id) ?? 0) >= missedChecks);
    if (unknown.length > 0) await appendUnknown(sql, unknown);
  }

  /** Appends the results that could not be appended before, each alone: one of them may be the reason. Never throws. */
  async #appendLate(sql: Sql): Promise<void> {
    for (const [id, entry] of this.#open) {
      if (entry === null) continue;
      try {
        await appendResults(sql, [{ id, entry }], { onlyOpen: true });
        this.#open.delete(id);
      } catch (error) {
        if (isUnavailable(error)) return;
      }
    }
  }
}

/** One statement for all that arrives during the one before. */
const inBatches = <T>(write: (sql: Sql, items: T[]) => Promise<void>) =>
  batch<T & { sql: Sql }, null>(async (items) => {
    if (items[0]) await write(items[0].sql, items);
    return items.map(() => null);
  }, batches);
