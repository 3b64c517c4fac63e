import { Problem } from "@signalbox/schema/problem";
import { OutageError } from "../breakers/breakers.ts";
import { linkSignals } from "../platform/abortable.ts";
import type { Bus } from "../platform/bus.ts";
import { isUnavailable } from "../platform/database/client.ts";
import type { Report } from "../platform/log.ts";
import { Failure, maxRetryAfterMs, sleep } from "../platform/retry.ts";
import { attemptSeconds, attempts, lostLeases } from "../platform/telemetry/metrics.ts";
import { isOpen } from "./approval.ts";
import { inAttemptSpan, recordLostAttempt } from "./attempt-span.ts";
import { HoldExecution } from "./budget.ts";
import { LeaseLost } from "./lease.ts";
import type { Presence } from "./presence/watch.ts";
import type { ClaimedExecution } from "./queries.ts";
import { runExecution } from "./run.ts";
import type { RunDeps } from "./run-context.ts";
import type { Change } from "./steps/rows.ts";
import { Transcript } from "./steps/transcript.ts";
import type { AttemptLimits } from "./write-step.ts";

export interface AttemptDeps extends RunDeps {
  readonly bus: Bus;
  /** Writes the changes of an execution; `false` if its lease is lost. */
  readonly write: (change: Change) => Promise<boolean>;
  /** Repeats a `write` to which the database did not respond. Changes that are already stored are not written again. */
  readonly writeAgain: (change: Change) => Promise<boolean>;
  readonly presence: Presence;
  /** Notifies the people on the issue that the execution is held. Never rejects. */
  readonly onHeld: (execution: ClaimedExecution) => Promise<void>;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  /** Writes an error to the watchdog. */
  readonly alarm: Report;
}

/** An execution fails after this many worker crashes in a row without a further step, because it may cause them. */
const maxDeaths = 5;

/** How an attempt ended. `interrupted`: no outcome is stored, and another attempt resumes after the last step. */
export type AttemptOutcome =
  | {
      readonly kind: "recorded";
      /** The execution succeeded, so it does not run again. */
      readonly isDone: boolean;
    }
  | {
      readonly kind: "interrupted";
      /** None of its requests can still be in flight. */
      readonly clean: boolean;
      /** Ids of its steps that sent a write whose outcome is not stored. */
      readonly unconfirmedStepIds: readonly string[];
    };

/** Limits of an attempt that its queue sets. */
type AttemptBounds = Omit<AttemptLimits, "unconfirmedStepIds">;

/** Maximum duration of work between two steps that has no timeout of its own: reading rows, finding memories. */
const betweenStepsMs = 60_000;
/** Pause between two tries of a write while the database is unavailable. */
const databaseAgainMs = 250;
/** If a write gets no response for longer, it may itself be the cause. The attempt ends and another one begins. */
const maxOutageMs = 60_000;

/** One attempt at an execution, with its outcome recorded. Never rejects. */
export function attemptExecution(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<AttemptOutcome> {
  const done = attemptSeconds.startTimer();
  return inAttemptSpan(execution, () => attempt(execution, bounds, deps)).finally(done);
}

async function attempt(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<AttemptOutcome> {
  const log = deps.log.with({ execution_id: execution.id, task_id: execution.task_id, event_id: execution.event_id });
  const { lease, stopSignal } = bounds;
  const limits: AttemptLimits = { ...bounds, unconfirmedStepIds: new Set() };
  const { signal, unlink } = linkSignals([lease.signal, stopSignal]);
  let transcript: Transcript | undefined;
  const interruptedOutcome = (): AttemptOutcome => {
    const clean = transcript?.steps.every(({ state, in_flight_ms }) => state !== "started" || in_flight_ms === null) ?? false;
    return { kind: "interrupted", clean, unconfirmedStepIds: [...limits.unconfirmedStepIds] };
  };
  lease.progress(betweenStepsMs);
  const sign = execution.dry_run ? { end: () => {} } : deps.presence.watch(execution);
  try {
    transcript = await openTranscript(execution, bounds, deps);
    await recordLostAttempt(execution, deps);
    checkRunnable(execution);
    const outcome = await runExecution({ execution, transcript, signal, limits }, { ...deps, log });
    if (outcome.kind === "offered") await deps.bus.publish("gateway", outcome.to);
    else log.info("execution succeeded", { attempts: execution.attempts });
    await deps.breakers.executionSucceeded(execution).catch((error) => log.warn("failed to close a breaker", { error }));
    attempts.inc({ outcome: outcome.kind === "offered" ? "offered" : "succeeded" });
    if (transcript.steps.some(isOpen)) deps.presence.wake();
    return { kind: "recorded", isDone: outcome.kind !== "offered" };
  } catch (error) {
    if (error instanceof LeaseLost || signal.aborted) {
      attempts.inc({ outcome: "interrupted" });
      if (lease.signal.aborted) lostLeases.inc();
      log.warn("execution interrupted", { reason: String(signal.reason ?? error) });
      return interruptedOutcome();
    }
    try {
      await recordError(execution, error, transcript, deps);
      return { kind: "recorded", isDone: false };
    } catch (second) {
      log.warn("failed to persist the execution's outcome", { error: second });
      return interruptedOutcome();
    }
  } finally {
    sign.end();
    unlink();
  }
}

/** Throws a `Failure` if the execution cannot be run. */
function checkRunnable({ deaths, unreadable }: ClaimedExecution): void {
  if (deaths >= maxDeaths)
    throw new Failure(`Its worker crashed ${deaths} times in a row while running it.`, { retryable: false });
  // A replica of another release may be able to read it.
  if (unreadable !== null) throw new Failure(`Its stored text cannot be unpacked: ${unreadable}`, { retryable: true });
}

/** The first attempt has no steps to read. */
function openTranscript(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<Transcript> | Transcript {
  const write = (change: Change) => retryDuringOutage(change, bounds, deps);
  return execution.attempts > 1 ? Transcript.open(deps.sql, execution, write) : new Transcript(execution, [], write);
}

/**
 * Writes a change. While the database is unavailable, it retries for as long as the lease is valid: if the attempt ended
 * here, the next one would have to look for its writes at trackers. Each retry counts as progress.
 */
async function retryDuringOutage(change: Change, { lease, stopSignal }: AttemptBounds, deps: AttemptDeps): Promise<boolean> {
  const end = performance.now() + maxOutageMs;
  for (let write = deps.write; ; write = deps.writeAgain) {
    lease.progress(betweenStepsMs);
    try {
      return await write(change);
    } catch (error) {
      if (!isUnavailable(error) || stopSignal.aborted || performance.now() > end) throw error;
      if (write === deps.write)
        deps.log.warn("the database did not answer; the attempt tries again while it has its lease", {
          execution_id: change.id,
          error,
        });
      await sleep(databaseAgainMs, AbortSignal.any([lease.signal, stopSignal]));
    } finally {
      lease.progress(betweenStepsMs);
    }
  }
}

/** Stores the outcome of an attempt that ended with this error. Throws if the database is unavailable. */
async function recordError(
  execution: ClaimedExecution,
  error: unknown,
  transcript: Transcript | undefined,
  deps: AttemptDeps,
): Promise<void> {
  if (isUnavailable(error)) throw error;
  if (error instanceof HoldExecution) return recordHold(execution, error, transcript, deps);
  if (error instanceof OutageError) return postpone(execution, error, transcript, deps);
  return recordFailure(execution, error, transcript, deps);
}

/** The execution resumes after its last step when the hold ends. */
async function recordHold(
  execution: ClaimedExecution,
  { hold }: HoldExecution,
  transcript: Transcript | undefined,
  deps: AttemptDeps,
): Promise<void> {
  const { reason, until, waitsFor, isQuiet } = hold;
  const started = transcript?.steps.find(({ state }) => state === "started");
  if (started) transcript?.complete(started, { error: reason });
  await transcript?.flush({
    ...transcript.totals(),
    state: "held",
    held_reason: reason,
    held_until: until,
    waiting_for: waitsFor,
    error: null,
  });
  deps.log.info("execution held", { execution_id: execution.id, reason, until });
  if (!isQuiet) await deps.onHeld({ ...execution, held_reason: reason, held_until: until });
}

/** Queues the execution again because something that it needs is unavailable. This uses up no attempt. */
async function postpone(
  execution: ClaimedExecution,
  { breaker, failure, heldReason, message }: OutageError,
  transcript: Transcript | undefined,
  deps: AttemptDeps,
): Promise<void> {
  const started = transcript?.steps.find(({ state }) => state === "started");
  if (started && failure) transcript?.complete(started, { error: message });
  // A breaker postpones it for as long as the server requests.
  const after_ms = breaker ? 0 : Math.min(failure?.retryAfterMs ?? 0, maxRetryAfterMs);
  const held_reason = heldReason ?? undefined;
  await transcript?.flush({
    ...transcript.totals(),
    ...(held_reason === undefined || breaker === null
      ? { state: "queued", delay_ms: after_ms }
      : { state: "held", held_reason, held_until: null, waiting_for: breaker.name }),
    blocked_by: breaker?.key ?? null,
    ...(failure && { error: message }),
  });
  if (held_reason !== undefined) await deps.onHeld({ ...execution, held_reason, held_until: null });
  attempts.inc({ outcome: "postponed" });
  const context = { execution_id: execution.id, task_id: execution.task_id, waits_for: breaker?.name };
  deps.log.warn("execution postponed", { ...context, error: message, after_ms, held_reason });
}

/** Queues the execution again, or fails it for good. */
async function recordFailure(
  execution: ClaimedExecution,
  error: unknown,
  transcript: Transcript | undefined,
  deps: AttemptDeps,
): Promise<void> {
  const failure = error instanceof Failure ? error : null;
  const reason = error instanceof Problem ? error.message : failure?.message;
  const message = reason ?? "Internal error; see the service's log.";
  // An unexpected error may be transient, and the transcript makes another attempt safe.
  const retry = (failure?.retryable ?? true) && execution.failures < deps.retryLimit;
  const retryAfterMs = Math.min(failure?.retryAfterMs ?? 0, maxRetryAfterMs);
  const isExplained = failure !== null || (error instanceof Problem && error.cause === undefined);
  if (!isExplained) deps.log.error("execution failed unexpectedly", { execution_id: execution.id, error });
  const patch = retry
    ? {
        state: "queued" as const,
        delay_ms: Math.max(deps.retryDelaySeconds * 1000 * 2 ** execution.failures, retryAfterMs),
      }
    : { state: "failed" as const };
  const started = transcript?.steps.find(({ state }) => state === "started");
  // The outcome of a model request cannot be looked up, so a restart sends a new one.
  const ended = started?.kind === "model" && !retry && { state: "failed" as const };
  if (started) transcript?.complete(started, { error: message, ...ended });
  const totals = transcript && { ...transcript.totals(), agent_id: transcript.steps[0]?.agent_id ?? null };
  // Also if its transcript could not be read: an execution without an outcome would run again after each lease.
  const record = transcript ?? new Transcript(execution, [], deps.write);
  await record.flush({ ...totals, ...patch, error: message, failures: execution.failures + 1 });
  attempts.inc({ outcome: retry ? "retried" : "failed" });
  const context = { execution_id: execution.id, task_id: execution.task_id, error: message };
  if (retry) deps.log.warn("execution failed; it will be retried", { ...context, after_ms: patch.delay_ms });
  else {
    deps.presence.wake();
    deps.alarm("execution failed", context);
  }
}
