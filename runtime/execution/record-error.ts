import { Problem } from "@signalbox/schema/problem";
import { type Breakers, OutageError } from "../breakers/breakers.ts";
import type { Log, Report } from "../platform/log.ts";
import { Failure, maxRetryAfterMs } from "../platform/retry.ts";
import { attempts } from "../platform/telemetry/metrics.ts";
import { HoldExecution } from "./budget.ts";
import type { Presence } from "./presence/signs.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { Change, StepRow } from "./steps/rows.ts";
import { Transcript } from "./steps/transcript.ts";

export interface RecordDeps {
  /** Writes the changes of an execution; `false` if its lease is lost. */
  readonly write: (change: Change) => Promise<boolean>;
  readonly presence: Presence;
  readonly breakers: Pick<Breakers, "executionFailed">;
  /** Notifies the people on the issue that the execution is held. Never rejects. */
  readonly onHeld: (execution: ClaimedExecution) => Promise<void>;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  /** Writes an error to the watchdog. */
  readonly alarm: Report;
  readonly log: Log;
}

/** Stores the error with which an attempt ended, and how the execution goes on. */
export function recordError(
  execution: ClaimedExecution,
  error: unknown,
  transcript: Transcript,
  deps: RecordDeps,
): Promise<void> {
  if (error instanceof HoldExecution) return recordHold(execution, error, transcript, deps);
  if (error instanceof OutageError) return postpone(execution, error, transcript, deps);
  return recordFailure(execution, error, transcript, deps);
}

const startedStep = ({ steps }: Transcript): StepRow | undefined => steps.find(({ state }) => state === "started");

/** The execution resumes after its last step when the hold ends. */
async function recordHold(
  execution: ClaimedExecution,
  { hold }: HoldExecution,
  transcript: Transcript,
  deps: RecordDeps,
): Promise<void> {
  const { reason, until, waitsFor, isQuiet } = hold;
  const started = startedStep(transcript);
  if (started) transcript.complete(started, { error: reason });
  await transcript.flush({
    ...transcript.totals(),
    state: "held",
    held_reason: reason,
    held_until: until,
    waiting_for: waitsFor,
    error: null,
  });
  deps.log.info("execution held", { reason, until });
  if (!isQuiet) await deps.onHeld({ ...execution, held_reason: reason, held_until: until });
}

/** Queues the execution again because something that it needs is unavailable. This uses up no attempt. */
async function postpone(
  execution: ClaimedExecution,
  { breaker, failure, heldReason, message }: OutageError,
  transcript: Transcript,
  deps: RecordDeps,
): Promise<void> {
  const started = startedStep(transcript);
  if (started && failure) transcript.complete(started, { error: message });
  // A breaker postpones it for as long as the server requests.
  const after_ms = breaker ? 0 : Math.min(failure?.retryAfterMs ?? 0, maxRetryAfterMs);
  const held_reason = heldReason ?? undefined;
  await transcript.flush({
    ...transcript.totals(),
    ...(held_reason === undefined || breaker === null
      ? { state: "queued", delay_ms: after_ms }
      : { state: "held", held_reason, held_until: null, waiting_for: breaker.name }),
    blocked_by: breaker?.key ?? null,
    ...(failure && { error: message }),
  });
  if (held_reason !== undefined) await deps.onHeld({ ...execution, held_reason, held_until: null });
  attempts.inc({ outcome: "postponed" });
  deps.log.warn("execution postponed", { waits_for: breaker?.name, error: message, after_ms, held_reason });
}

/** Queues the execution again, or fails it for good. */
async function recordFailure(
  execution: ClaimedExecution,
  error: unknown,
  transcript: Transcript,
  deps: RecordDeps,
): Promise<void> {
  const failure = failureOf(execution, error, deps);
  const started = startedStep(transcript);
  // The outcome of a model request cannot be looked up, so a restart sends a new one.
  const ended = started?.kind === "model" && failure.state === "failed" && { state: "failed" as const };
  if (started) transcript.complete(started, { error: failure.error, ...ended });
  await transcript.flush({ ...transcript.totals(), agent_id: transcript.steps[0]?.agent_id ?? null, ...failure });
  reportFailure(execution, failure, deps);
}

/** As `recordFailure`, if the transcript cannot be read: an execution without an outcome would run again after each lease. */
export async function recordUnread(execution: ClaimedExecution, error: unknown, deps: RecordDeps): Promise<void> {
  const failure = failureOf(execution, error, deps);
  await new Transcript(execution, [], deps.write).flush(failure);
  reportFailure(execution, failure, deps);
}

/** What changes in an execution that failed with this error: it is queued again, or fails for good. */
function failureOf(execution: ClaimedExecution, error: unknown, deps: RecordDeps) {
  const failure = error instanceof Failure ? error : null;
  const reason = error instanceof Problem ? error.message : failure?.message;
  const isExplained = failure !== null || (error instanceof Problem && error.cause === undefined);
  if (!isExplained) deps.log.error("execution failed unexpectedly", { error });
  const changes = { error: reason ?? "Internal error; see the service's log.", failures: execution.failures + 1 };
  // An unexpected error may be transient, and the transcript makes another attempt safe.
  const retry = (failure?.retryable ?? true) && execution.failures < deps.retryLimit;
  if (!retry) return { state: "failed" as const, ...changes };
  const retryAfterMs = Math.min(failure?.retryAfterMs ?? 0, maxRetryAfterMs);
  const delay_ms = Math.max(deps.retryDelaySeconds * 1000 * 2 ** execution.failures, retryAfterMs);
  return { state: "queued" as const, delay_ms, ...changes };
}

function reportFailure(execution: ClaimedExecution, failure: ReturnType<typeof failureOf>, deps: RecordDeps): void {
  attempts.inc({ outcome: failure.state === "queued" ? "retried" : "failed" });
  const { error } = failure;
  if (failure.state === "queued") deps.log.warn("execution failed; it will be retried", { error, after_ms: failure.delay_ms });
  else {
    deps.breakers.executionFailed(execution);
    deps.presence.wake();
    deps.alarm("execution failed", { execution_id: execution.id, task_id: execution.task_id, error });
  }
}
