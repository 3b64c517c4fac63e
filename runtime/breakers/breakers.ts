import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { Failure, maxRetryAfterMs } from "../platform/retry.ts";
import { FirstFailures } from "./first-failures.ts";
import { admitProbes, type Breaker, closeBreaker, listBreakers, openBreaker, probeSoon, tryAsProbe } from "./queries.ts";
import { Successes } from "./successes.ts";

/** A model or a tracker account that many executions use, and that may fail for all of them. */
export interface Target {
  readonly key: string;
  readonly name: string;
  readonly effect: "read" | "write";
  /** Whether a refused credential (401) counts as a failure of the target. */
  readonly mayRefuse: boolean;
}

/** A proxy can refuse the model of one agent and serve the others, so only a refusal of the default model counts. */
export const modelTarget = (isDefault: boolean): Target => ({
  key: "model",
  name: "the model",
  effect: "write",
  mayRefuse: isDefault,
});

/** An account at a platform. `environment` is the id of the one that the environment names. */
export const connectionTarget = (source: string, id: string, effect: Target["effect"]): Target => ({
  key: `connection ${source} ${id}`,
  name: id === "environment" ? `the connection ${source}` : `the connection ${source} (${id})`,
  effect,
  mayRefuse: true,
});

/** The members of an execution that breakers use. */
interface Caller {
  readonly id: string;
  readonly subject: string | null;
  /** Key of the breaker that it probes. */
  readonly probes: string | null;
}

/**
 * The model or account of an execution is unavailable for all executions, or requested a wait. The execution waits and does not
 * fail.
 */
export class OutageError extends Error {
  override readonly name = "OutageError";
  /** `null`: the execution waits until a known time, and others may continue. */
  readonly breaker: Breaker | null;
  /** The failure of this execution; `null` if it waited for the breaker and sent no request. */
  readonly failure: Failure | null;
  /** Why it is held instead of queued; `null` if the outage is not that long. */
  readonly heldReason: string | null;
  constructor(breaker: Breaker | null, failure: Failure | null, heldReason: string | null = null) {
    super(failure?.message ?? breaker?.reason);
    this.breaker = breaker;
    this.failure = failure;
    this.heldReason = heldReason;
  }
}

interface BreakerOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly report: (level: "info" | "error", message: string, context: Record<string, unknown>) => void;
  /** Wait before the first probe, in seconds. It doubles after each failed probe, up to five minutes. */
  readonly delaySeconds: number;
  /** If the outage has lasted this long, an execution whose probe fails is held; 0: it is never held. */
  readonly holdAfterSeconds: number;
}

/** Maximum age of the list of open breakers, in milliseconds. */
const sweepMs = 5_000;
/**
 * If the server requests a wait of up to this long, the call itself waits: see `retry`. A longer wait applies to all executions.
 */
const longWaitMs = 60_000;
/** How long an ambiguous failure on one issue counts as evidence for a failure on another, in milliseconds. */
const ambiguousFailureMs = 300_000;

/** Opens and closes the breakers, which all replicas share. */
export async function openBreakers(options: BreakerOptions): Promise<Breakers> {
  const breakers = new Breakers(options);
  await probeSoon(options.sql);
  await breakers.open();
  return breakers;
}

export class Breakers {
  readonly #options: BreakerOptions;
  #known: ReadonlyMap<string, Breaker> = new Map();
  #cache: CachedValue | undefined;
  readonly #successes = new Successes();
  readonly #firstFailures = new FirstFailures();
  /** The latest failure of each key that may have been caused by the issue itself. */
  readonly #ambiguousFailures = new Map<string, { issue: string; firstFailedAt: number; at: number }>();

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { sql, bus, log } = this.#options;
    const read = async () => {
      this.#known = new Map((await listBreakers(sql)).map((one) => [one.key, one]));
    };
    this.#cache = await openCachedValue({ name: "breakers", topic: "breakers", read, bus, log, sweepMs });
  }

  close(): void {
    this.#cache?.close();
  }

  /** Whether any breaker is open, according to this replica's cached list. */
  get any(): boolean {
    return this.#known.size > 0;
  }

  /** Lets one execution pass each breaker whose probe is due. Returns the time until the next check, in milliseconds. */
  async admit(): Promise<number | null> {
    const { sql, bus, delaySeconds } = this.#options;
    const { admitted, wait } = await admitProbes(sql, delaySeconds);
    if (!admitted) return wait;
    await bus.publish("queue");
    return 0;
  }

  /**
   * Makes a call, with retries, to a service that other executions also call. Throws an `OutageError` if calls of all executions
   * fail, or without calling if the breaker is already open. If calls of other executions begin after this one has failed, and
   * succeed, throws the call's own error.
   */
  async guard<T>(caller: Caller, target: Target, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    if (this.#known.has(target.key) && caller.probes !== target.key) await this.#pass(caller, target);
    const startedAt = performance.now();
    try {
      const result = await call();
      this.#firstFailures.forget(caller.id, target.key);
      this.#successes.record(target, startedAt);
      await this.#answered(caller, target);
      return result;
    } catch (error) {
      if (signal.aborted || !(error instanceof Failure)) throw error;
      if (!error.unavailable || (error.isRefusal && !target.mayRefuse)) {
        await this.#answered(caller, target);
        throw error;
      }
      throw await this.#failure(caller, target, error);
    }
  }

  /** The execution has failed for good. If a person restarts it, it is judged like a new one. */
  executionFailed({ id }: Pick<Caller, "id">): void {
    this.#firstFailures.forget(id);
  }

  /** The execution has succeeded: closes the breaker that it probed. */
  async executionSucceeded({ id, probes }: Caller): Promise<void> {
    this.#firstFailures.forget(id);
    if (probes !== null) await this.#close(probes);
  }

  async #pass(caller: Caller, { key }: Target): Promise<void> {
    const { sql, delaySeconds } = this.#options;
    const found = await tryAsProbe(sql, key, caller.id, delaySeconds);
    if (!found) await this.#cache?.refresh();
    else if (!found.is_probe) throw new OutageError(found, null);
  }

  async #failure(caller: Caller, target: Target, failure: Failure): Promise<Error> {
    const affectsAll = (failure.retryAfterMs ?? 0) > longWaitMs;
    const known = this.#known.has(target.key);
    const firstFailedAt = this.#firstFailures.firstOf(caller.id, target.key, failure.firstFailedAt);
    // Calls of other executions succeed, so only this execution fails or must wait.
    if (this.#successes.lastStart(target) > firstFailedAt && !known) return affectsAll ? new OutageError(null, failure) : failure;
    if (failure.isAmbiguous && !affectsAll && !known && !this.#othersFail(caller, target, failure)) return failure;
    this.#firstFailures.record(caller.id, target.key, failure.firstFailedAt);
    return this.#open(caller, target, failure);
  }

  async #open({ id, probes }: Caller, { key, name, effect }: Target, failure: Failure): Promise<OutageError> {
    const { sql, bus, report, delaySeconds, holdAfterSeconds } = this.#options;
    const asked_seconds = Math.min(failure.retryAfterMs ?? 0, maxRetryAfterMs) / 1000;
    const outage = { key, name, effect, reason: failure.message, execution: id, asked_seconds };
    const { is_new, is_reported, open_seconds, ...breaker } = await openBreaker(sql, outage, delaySeconds);
    if (is_reported) {
      const context = { reason: failure.message, unavailable_since: breaker.opened_at, next_try_at: breaker.next_probe_at };
      report("error", `${name} is ${is_new ? "" : "still "}unavailable; executions wait for it`, context);
    }
    await bus.publish("breakers");
    const isHeld = probes === key && holdAfterSeconds > 0 && open_seconds >= holdAfterSeconds;
    return new OutageError(breaker, failure, isHeld ? heldReason(breaker) : null);
  }

  /**
   * Whether an execution on another issue recently had an ambiguous failure, with no success since. If only one issue is
   * affected, its executions fail and are retried as usual. A refused credential stays refused, so its time does not matter.
   */
  #othersFail({ id, subject }: Caller, target: Target, { isRefusal, firstFailedAt }: Failure): boolean {
    const issue = subject ?? id;
    const previous = this.#ambiguousFailures.get(target.key);
    const now = performance.now();
    this.#ambiguousFailures.set(target.key, { issue, firstFailedAt, at: now });
    return (
      previous !== undefined &&
      previous.issue !== issue &&
      (isRefusal || now - previous.at < ambiguousFailureMs) &&
      this.#successes.lastStart(target) < previous.firstFailedAt
    );
  }

  /** The server has responded. Even if it refused the call, it is available, unless it refused the credential of the target. */
  async #answered(caller: Caller, target: Target): Promise<void> {
    const effect = this.#known.get(target.key)?.effect;
    if (caller.probes === target.key || (effect !== undefined && (effect === "read" || target.effect === "write")))
      await this.#close(target.key);
  }

  async #close(key: string): Promise<void> {
    const { sql, bus, report } = this.#options;
    const closed = await closeBreaker(sql, key);
    await bus.publish("breakers");
    if (!closed) return;
    const { name, opened_at, released } = closed;
    report("info", `${name} is available again; executions continue`, { unavailable_since: opened_at, released });
    await bus.publish("queue");
  }
}

/** The reason is shown on the issue, so it contains no details of the failure. */
const heldReason = ({ name, opened_at }: Breaker): string =>
  `${name} has been unavailable since ${new Date(opened_at).toISOString().slice(0, 16).replace("T", " ")} UTC, longer than OUTAGE_HOLD_HOURS in the settings`;
