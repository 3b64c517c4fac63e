import { batch } from "../platform/database/batch.ts";
import { isDeadlock, isUniqueViolation } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { sleep } from "../platform/retry.ts";
import { type AttemptDeps, attemptExecution } from "./attempt.ts";
import { type Claimed, claimExecutions, nextDue, releaseExecution, releaseExpired, renewLeases } from "./queries.ts";
import { type Change, writeChanges } from "./steps/queries.ts";
import { LeaseLost } from "./steps/transcript.ts";

export interface QueueOptions extends Omit<AttemptDeps, "write"> {
  readonly concurrency: number;
  readonly leaseSeconds: number;
  /** This is the only process on the database: what is running at the start belongs to a dead one. */
  readonly onlyProcess: boolean;
}

export interface ExecutionQueue {
  /** Executions wait: claim now. */
  wake(): void;
  /** Claims nothing more, lets running executions end for up to `drainMs`, and queues the rest again. */
  stop(drainMs: number): Promise<void>;
  readonly running: () => number;
}

/** Longest sleep between two looks at the queue, in case a wake-up is lost. */
const sweepMs = 5_000;
const shortestSleepMs = 20;

/** Claims executions and runs them, under leases that other replicas respect. */
export async function startQueue(options: QueueOptions): Promise<ExecutionQueue> {
  await releaseExpired(options.sql, options.onlyProcess);
  return new LeasedQueue(options);
}

interface Running {
  readonly execution: Claimed;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

class LeasedQueue implements ExecutionQueue {
  readonly #options: QueueOptions;
  readonly #deps: AttemptDeps;
  readonly #worker = newId();
  readonly #held = new Map<string, Running>();
  /** Attempts whose outcome could not be recorded. The database shows them as ours until they are released or their leases expire. */
  readonly #unrecorded = new Map<string, Claimed>();
  readonly #stopping = new AbortController();
  readonly #stopped = new AbortController();
  readonly #claiming: Promise<void>;
  readonly #renewing: Promise<void>;
  #woken = true;
  #endSleep = () => {};

  constructor(options: QueueOptions) {
    this.#options = options;
    const write = batch((changes: Change[]) => writeChanges(options.sql, changes), {
      maxItems: 64,
      beside: 16,
      concurrency: options.onlyProcess ? 1 : 4,
    });
    this.#deps = { ...options, write };
    options.bus.on("queue", () => this.wake());
    options.bus.on("cancel", (id) => this.#held.get(id)?.abort.abort(new LeaseLost("cancelled")));
    this.#claiming = this.#claimUntilStopped();
    this.#renewing = this.#renewUntilStopped();
  }

  readonly running = (): number => this.#held.size;

  wake(): void {
    this.#woken = true;
    this.#endSleep();
  }

  async stop(drainMs: number): Promise<void> {
    const { sql, bus } = this.#options;
    this.#stopping.abort();
    this.#endSleep();
    // Executions of a claim under way are drained like the others.
    await this.#claiming;
    const all = Promise.allSettled([...this.#held.values()].map(({ done }) => done));
    await Promise.race([all, new Promise((done) => setTimeout(done, drainMs).unref())]);
    const left = [...this.#held.values()];
    for (const { execution, abort } of left) {
      abort.abort(new LeaseLost("stopped"));
      await releaseExecution(sql, execution).catch(() => {});
    }
    // Other replicas can take them at once.
    if (left.length > 0) await bus.publish("queue").catch(() => {});
    this.#stopped.abort();
    await this.#renewing;
  }

  async #claimUntilStopped(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#woken = false;
      let wait = sweepMs;
      try {
        wait = await this.#claim();
      } catch (error) {
        // Another replica claimed the same subject first, or both waited for each other's locks: claim again.
        if (isUniqueViolation(error) || isDeadlock(error)) continue;
        this.#options.log.warn("failed to claim executions", { error });
        wait = 1000;
      }
      if (wait > 0 && !this.#woken) await this.#sleep(wait);
    }
  }

  /** Claims as many executions as there are free slots. Returns how long to sleep before the next claim, milliseconds. */
  async #claim(): Promise<number> {
    const { sql, concurrency, leaseSeconds } = this.#options;
    const free = concurrency - this.#held.size;
    for (const [id, execution] of this.#unrecorded) {
      await releaseExecution(sql, execution);
      this.#unrecorded.delete(id);
    }
    const claimed = free > 0 ? await claimExecutions(sql, this.#worker, free, leaseSeconds) : [];
    for (const execution of claimed) this.#start(execution);
    if (claimed.length > 0) return claimed.length === free ? 0 : shortestSleepMs;
    // Fewer executions are due than there are slots: ask when the next one is.
    if (free > 0) return Math.min(sweepMs, Math.max(shortestSleepMs, (await nextDue(sql)) ?? sweepMs));
    return sweepMs;
  }

  #start(execution: Claimed): void {
    // Its lease was lost without our noticing, and we have claimed it again: the earlier attempt can record nothing any more.
    this.#held.get(execution.id)?.abort.abort(new LeaseLost("claimed again"));
    const abort = new AbortController();
    const done = attemptExecution(execution, abort.signal, this.#deps).then((outcome) => {
      if (this.#held.get(execution.id)?.abort === abort) this.#held.delete(execution.id);
      if (outcome === "unrecorded") this.#unrecorded.set(execution.id, execution);
      // Its subject and its slot are free.
      this.wake();
    });
    this.#held.set(execution.id, { execution, abort, done });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.#endSleep = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  async #renewUntilStopped(): Promise<void> {
    const { leaseSeconds, log } = this.#options;
    while (!this.#stopped.signal.aborted) {
      await sleep((leaseSeconds * 1000) / 3, this.#stopped.signal).catch(() => {});
      if (this.#stopped.signal.aborted) return;
      await this.#renew().catch((error) => log.warn("failed to renew leases", { error }));
    }
  }

  /** Renews the leases of running executions, aborts those that are lost, and releases those of dead workers. */
  async #renew(): Promise<void> {
    const { sql, leaseSeconds } = this.#options;
    const running = [...this.#held.values()];
    const leases = running.map(({ execution }) => execution);
    const renewed = leases.length > 0 ? await renewLeases(sql, leases, leaseSeconds) : new Set<string>();
    for (const { execution, abort } of running)
      if (!renewed.has(execution.id)) abort.abort(new LeaseLost("another worker has taken it"));
    if ((await releaseExpired(sql, false)) > 0) this.wake();
  }
}
