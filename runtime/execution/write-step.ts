import { sleep } from "../platform/retry.ts";
import { runFenced } from "../platform/write-fence.ts";
import { type Lease, LeaseLost } from "./lease.ts";
import type { StepLog } from "./step-log.ts";
import type { Patch, StepRow } from "./steps/rows.ts";
import { WriteWindow } from "./write-window.ts";

/** Limits of an attempt at an execution. */
export interface AttemptLimits {
  readonly lease: Lease;
  /** The service stops. */
  readonly stopSignal: AbortSignal;
  /** How long a request that writes may be in flight, in milliseconds. */
  readonly windowMs: number;
  /** Ids of steps that sent a write and whose outcome is not stored yet. */
  readonly unconfirmedStepIds: Set<string>;
}

export interface WriteStep<T = unknown> {
  readonly step: StepRow;
  readonly log: StepLog;
  /** An earlier attempt started the step. */
  readonly resumed: boolean;
  /** Stored together with the step. */
  readonly patch?: Patch;
  /** Looks for the write at the platform; `null` if it is not there. Absent: it cannot be looked for. */
  readonly find?: ((signal: AbortSignal) => Promise<T | null>) | undefined;
}

/**
 * Runs the write of a step. Before the first request is sent, stores the step as started, with the time for which its
 * requests may be in flight. A resumed step whose write cannot be found yet first waits until no request of its earlier attempt
 * can be in flight. The caller completes the step.
 */
export async function runWrite<T>(
  { step, log, resumed, patch, find }: WriteStep<T>,
  { lease, stopSignal, windowMs, unconfirmedStepIds }: AttemptLimits,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // `null`: the earlier attempt ended with no request in flight.
  const wasLost = resumed && step.in_flight_ms !== null;
  const waitMs = wasLost ? (step.in_flight_ms ?? 0) : 0;
  if (waitMs > 0) {
    const signal = AbortSignal.any([lease.signal, stopSignal]);
    const startedAt = performance.now();
    const existing = await findAtOnce(find, signal, waitMs);
    if (existing !== null) {
      // The earlier attempt may have sent it twice.
      log.complete(step, { in_flight_ms: null, check_ms: Math.max(windowMs, waitMs) });
      return existing;
    }
    await sleep(Math.max(0, waitMs - (performance.now() - startedAt)), signal);
  }
  const store = async (ms: number) => {
    log.complete(step, { in_flight_ms: ms });
    try {
      await log.flush(patch);
    } catch (error) {
      if (error instanceof LeaseLost) lease.lose(error.message);
      throw error;
    }
  };
  const window = new WriteWindow({ lease, stopSignal, windowMs, store });
  try {
    if (!resumed) await window.open();
  } catch (error) {
    window.close();
    throw error;
  }
  let isDone = false;
  try {
    const result = await runFenced(window, () => call(window.signal));
    isDone = true;
    return result;
  } finally {
    window.close();
    if (window.hasSent) unconfirmedStepIds.add(step.id);
    // A lost attempt may have sent it twice itself.
    const mayBeTwice = wasLost || window.mayHaveWrittenTwice;
    // The next attempt must know that a request of this or an earlier one may still take effect.
    const isOpen = !isDone && (wasLost || window.isUnknown);
    log.complete(step, {
      ...(mayBeTwice && { check_ms: windowMs }),
      ...(!window.mayBeUnderWay && { in_flight_ms: isOpen ? 0 : null }),
    });
  }
}

/**
 * Most writes of a dead worker were carried out. A search that fails, or takes as long as the wait, says nothing: the next one comes
 * after the wait.
 */
async function findAtOnce<T>(find: WriteStep<T>["find"], signal: AbortSignal, waitMs: number): Promise<T | null> {
  const existing = await find?.(AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(waitMs))])).catch(() => null);
  signal.throwIfAborted();
  return existing ?? null;
}
