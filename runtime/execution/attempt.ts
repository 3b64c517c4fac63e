import { linkSignals } from "../platform/abortable.ts";
import type { Bus } from "../platform/bus.ts";
import { isUnavailable } from "../platform/database/client.ts";
import { Failure, growingPauseMs, sleep } from "../platform/retry.ts";
import { attemptSeconds, attempts, lostLeases } from "../platform/telemetry/metrics.ts";
import { isOpen } from "./approval.ts";
import { inAttemptSpan, recordLostAttempt } from "./attempt-span.ts";
import { LeaseLost } from "./lease.ts";
import { type ClaimedExecution, withdrawLateOffer } from "./queries.ts";
import { type RecordDeps, recordError, recordUnread } from "./record-error.ts";
import { runExecution } from "./run.ts";
import type { Run, RunDeps } from "./run-context.ts";
import type { Change } from "./steps/rows.ts";
import { Transcript } from "./steps/transcript.ts";
import type { AttemptLimits } from "./write-step.ts";

export interface AttemptDeps extends RunDeps, RecordDeps {
  readonly bus: Bus;
  readonly breakers: RunDeps["breakers"] & RecordDeps["breakers"];
  /** Repeats a `write` to which the database did not respond. Changes that are already stored are not written again. */
  readonly writeAgain: (change: Change) => Promise<boolean>;
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
/** First and longest pause between two tries of a write while the database is unavailable, in milliseconds. */
const databaseAgainMs = { first: 250, longest: 2_000 };
/** If a write gets no response for longer, it may itself be the cause. The attempt ends and another one begins. */
const maxOutageMs = 60_000;

/** One attempt at an execution, with its outcome recorded. Never rejects. */
export function attemptExecution(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<AttemptOutcome> {
  const done = attemptSeconds.startTimer();
  const log = deps.log.with({ execution_id: execution.id, task_id: execution.task_id, event_id: execution.event_id });
  return inAttemptSpan(execution, () => attempt(execution, bounds, { ...deps, log })).finally(done);
}

/** Opens the transcript, and then runs the execution. */
async function attempt(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<AttemptOutcome> {
  const { lease, stopSignal } = bounds;
  const limits: AttemptLimits = { ...bounds, unconfirmedStepIds: new Set() };
  const { signal, unlink } = linkSignals([lease.signal, stopSignal]);
  lease.progress(betweenStepsMs);
  const sign = execution.dry_run ? { end: () => {} } : deps.presence.watch(execution);
  try {
    const transcript = await openTranscript(execution, bounds, deps);
    return await runOpened({ execution, transcript, signal, limits }, deps);
  } catch (error) {
    // `runOpened` never rejects, so the transcript could not be read.
    const record = () => recordUnread(execution, error, deps);
    return await endWithError(error, { signal, limits, record, isClean: () => false }, deps);
  } finally {
    sign.end();
    unlink();
  }
}

/** Never rejects. */
async function runOpened(run: Run, deps: AttemptDeps): Promise<AttemptOutcome> {
  const { execution, transcript, signal, limits } = run;
  try {
    await recordLostAttempt(execution, deps);
    checkRunnable(execution);
    const outcome = await runExecution(run, deps);
    if (outcome.kind === "postponed") {
      attempts.inc({ outcome: "postponed" });
      deps.log.info("execution queued again, because others on its issue come first or its project or agent is paused");
      return { kind: "recorded", isDone: false };
    }
    if (outcome.kind === "offered") await announceOffer(execution, outcome.to, deps);
    else deps.log.info("execution succeeded", { attempts: execution.attempts });
    await deps.breakers.executionSucceeded(execution).catch((error) => deps.log.warn("failed to close a breaker", { error }));
    attempts.inc({ outcome: outcome.kind === "offered" ? "offered" : "succeeded" });
    if (transcript.steps.some(isOpen)) deps.presence.wake();
    return { kind: "recorded", isDone: outcome.kind !== "offered" };
  } catch (error) {
    const record = () => recordError(execution, error, transcript, deps);
    const isClean = () => transcript.steps.every(({ state, in_flight_ms }) => state !== "started" || in_flight_ms === null);
    return endWithError(error, { signal, limits, record, isClean }, deps);
  }
}

/**
 * Notifies the replicas that serve the agent's streams. If its last stream ended while the offer was stored, the end withdrew only
 * earlier offers.
 */
async function announceOffer({ id }: ClaimedExecution, agentId: string, { sql, bus }: AttemptDeps): Promise<void> {
  await bus.publish("gateway", agentId);
  if (!(await withdrawLateOffer(sql, id, agentId))) return;
  // Runs first, so that no replica offers it to the agent again.
  await bus.publish("streams");
  await bus.publish("queue");
}

interface Ending extends Pick<Run, "signal" | "limits"> {
  /** Stores the error. */
  readonly record: () => Promise<void>;
  /** Whether none of its requests can still be in flight. */
  readonly isClean: () => boolean;
}

/** Ends an attempt with an error, which is stored unless the attempt was interrupted. Never rejects. */
async function endWithError(error: unknown, ending: Ending, { log }: AttemptDeps): Promise<AttemptOutcome> {
  const { signal, limits, record, isClean } = ending;
  const interrupted = (): AttemptOutcome => {
    return { kind: "interrupted", clean: isClean(), unconfirmedStepIds: [...limits.unconfirmedStepIds] };
  };
  if (error instanceof LeaseLost || signal.aborted) {
    attempts.inc({ outcome: "interrupted" });
    if (limits.lease.signal.aborted) lostLeases.inc();
    log.warn("execution interrupted", { reason: String(signal.reason ?? error) });
    return interrupted();
  }
  try {
    if (isUnavailable(error)) throw error;
    await record();
    return { kind: "recorded", isDone: false };
  } catch (second) {
    log.warn("failed to persist the execution's outcome", { error: second });
    return interrupted();
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
async function openTranscript(execution: ClaimedExecution, bounds: AttemptBounds, deps: AttemptDeps): Promise<Transcript> {
  const write = (change: Change) => retryDuringOutage(change, bounds, deps);
  return execution.attempts > 1 ? Transcript.open(deps.sql, execution, write) : new Transcript(execution, [], write);
}

/**
 * Writes a change. While the database is unavailable, it retries for as long as the lease is valid: if the attempt ended
 * here, the next one would have to look for its writes at trackers. Each retry counts as progress.
 */
async function retryDuringOutage(change: Change, { lease, stopSignal }: AttemptBounds, deps: AttemptDeps): Promise<boolean> {
  const end = performance.now() + maxOutageMs;
  for (let tries = 1; ; tries++) {
    lease.progress(betweenStepsMs);
    try {
      return await (tries === 1 ? deps.write(change) : deps.writeAgain(change));
    } catch (error) {
      if (!isUnavailable(error) || stopSignal.aborted || performance.now() > end) throw error;
      if (tries === 1)
        deps.log.warn("the database did not store a change; the attempt tries again while it has its lease", { error });
      const pauseMs = growingPauseMs(tries, databaseAgainMs.first, databaseAgainMs.longest);
      await sleep(pauseMs, AbortSignal.any([lease.signal, stopSignal]));
    } finally {
      lease.progress(betweenStepsMs);
    }
  }
}
