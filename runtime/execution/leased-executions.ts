import { abortable } from "../platform/abortable.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import type { AttemptOutcome } from "./attempt.ts";
import type { Lease } from "./lease.ts";
import { releaseExecutions, releaseLost, renewLeases } from "./lease-queries.ts";
import { type ClaimedExecution, reconcileBudgets } from "./queries.ts";
import { scheduleWriteChecks } from "./write-check-queries.ts";

interface LeasedExecutionsOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly leaseSeconds: number;
  /** Maximum time for which a request of an attempt may be in flight, in milliseconds. */
  readonly windowMs: number;
  /** Called when an execution can be claimed, because it waits for another attempt or a lease has expired. */
  readonly wake: () => void;
  /** Called when a slot and a subject become free. */
  readonly onFreed: () => void;
}

interface RunningAttempt {
  readonly execution: ClaimedExecution;
  readonly lease: Lease;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}
interface InterruptedAttempt {
  readonly execution: ClaimedExecution;
  readonly clean: boolean;
  readonly unconfirmedStepIds: readonly string[];
}

/** The executions that this worker has leased. Renews their leases, and queues executions again if their attempts were interrupted. */
export class LeasedExecutions {
  readonly #options: LeasedExecutionsOptions;
  readonly #running = new Map<string, RunningAttempt>();
  /**
   * Interrupted attempts that are not yet stored in the database, by execution and lease: executions claimed together share a
   * lease.
   */
  readonly #interrupted = new Map<string, InterruptedAttempt>();
  /** Why no attempt may begin a further write; `null` until the service stops. */
  #stopReason: Error | null = null;

  constructor(options: LeasedExecutionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  executions(): ClaimedExecution[] {
    return [...this.#running.values()].map(({ execution }) => execution);
  }

  /** Keeps the lease of an execution while its attempt runs. */
  add(execution: ClaimedExecution, lease: Lease, attempt: (stopSignal: AbortSignal) => Promise<AttemptOutcome>): void {
    // Its lease was lost unnoticed, and this worker has claimed it again. The earlier attempt can no longer record anything.
    this.#running.get(execution.id)?.lease.lose("claimed again");
    // Each attempt has its own signal: adding a listener to a signal takes as long as it has listeners.
    const stop = new AbortController();
    if (this.#stopReason) stop.abort(this.#stopReason);
    const done = attempt(stop.signal).then((outcome) => this.#ended(execution, lease, outcome));
    this.#running.set(execution.id, { execution, lease, stop, done });
  }

  /** Lets attempts finish their writes in flight and nothing else, also those that begin later. */
  stop(reason: Error): void {
    this.#stopReason = reason;
    for (const { stop } of this.#running.values()) stop.abort(reason);
  }

  cancel(id: string): void {
    this.#running.get(id)?.lease.lose("cancelled");
  }

  /** Resolves when all attempts have ended. */
  async whenEnded(): Promise<void> {
    if (this.size > 0) this.#options.log.info("waiting for executions to finish their writes", { executions: this.size });
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Ends every attempt at once. `release` queues their executions again. */
  interruptAll(reason: string): void {
    if (this.size > 0) this.#options.log.warn("executions did not finish their writes in time", { executions: this.size });
    for (const { execution, lease } of this.#running.values()) {
      lease.lose(reason);
      this.#recordInterrupted({ execution, clean: false, unconfirmedStepIds: [] });
    }
  }

  /** Queues executions again if their attempts were interrupted. Returns whether there were any. */
  async release(): Promise<boolean> {
    const { sql, windowMs } = this.#options;
    const any = this.#interrupted.size > 0;
    while (this.#interrupted.size > 0) {
      // An execution may be here twice, with two leases that it lost.
      const attempts = new Map([...this.#interrupted].map((entry) => [entry[1].execution.id, entry]));
      const unconfirmedStepIds = [...attempts.values()].flatMap(([, one]) => one.unconfirmedStepIds);
      if (unconfirmedStepIds.length > 0) await scheduleWriteChecks(sql, unconfirmedStepIds, windowMs);
      await releaseExecutions(
        sql,
        [...attempts.values()].map(([, { execution, clean }]) => ({ id: execution.id, lease: execution.lease, clean })),
      );
      // A released attempt may have ended since, with more details.
      for (const [key, one] of attempts.values()) if (this.#interrupted.get(key) === one) this.#interrupted.delete(key);
    }
    return any;
  }

  /** Renews the leases until it is stopped. */
  startRenewing(): Loop {
    const { leaseSeconds, log } = this.#options;
    const everyMs = Math.floor((leaseSeconds * 1000) / 3);
    return startLoop({
      everyMs,
      // A renewal whose response is lost must not prevent the next one.
      run: (stopSignal) => abortable(this.#renew(), AbortSignal.any([AbortSignal.timeout(everyMs), stopSignal])),
      onError: (error) => {
        log.warn("failed to renew leases", { error });
        return { pauseMs: Math.min(1_000, everyMs / 4) };
      },
    });
  }

  /** Renews the leases of running executions, ends those that are lost, and releases those of dead workers. */
  async #renew(): Promise<void> {
    const { sql, leaseSeconds, wake } = this.#options;
    for (const running of [...this.#running.values()]) if (running.lease.isStalled()) this.#letGo(running);
    const running = [...this.#running.values()];
    const askedAt = performance.now();
    const leases = running.map(({ execution }) => execution);
    const renewedIds = leases.length > 0 ? await renewLeases(sql, leases, leaseSeconds) : new Set<string>();
    for (const { execution, lease } of running) {
      if (renewedIds.has(execution.id)) lease.extend(askedAt);
      else lease.lose("another worker has taken it");
    }
    if ((await releaseLost(sql, "expired")) > 0) wake();
    await reconcileBudgets(sql);
  }

  /** The attempt waits for a response that was lost. It is ended, and the execution is queued again. */
  #letGo({ execution, lease }: RunningAttempt): void {
    this.#options.log.error("execution released: it made no progress within its timeouts", { execution_id: execution.id });
    lease.lose("it made no progress within its timeouts");
    this.#running.delete(execution.id);
    this.#recordInterrupted({ execution, clean: false, unconfirmedStepIds: [] });
    this.#options.wake();
  }

  #ended(execution: ClaimedExecution, lease: Lease, outcome: AttemptOutcome): void {
    lease.end();
    if (this.#running.get(execution.id)?.lease === lease) this.#running.delete(execution.id);
    if (outcome.kind === "interrupted") this.#recordInterrupted({ execution, ...outcome });
    if (outcome.kind === "recorded" && outcome.isDone) this.#options.onFreed();
    else this.#options.wake();
  }

  #recordInterrupted(one: InterruptedAttempt): void {
    this.#interrupted.set(`${one.execution.id} ${one.execution.lease}`, one);
  }
}
