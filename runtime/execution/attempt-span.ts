import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { genAi, ownAttributes } from "../platform/telemetry/names.ts";
import { inTrace, recordSpan, recordsSpans } from "../platform/telemetry/tracing.ts";
import { findLostAttempt } from "./lease-queries.ts";
import type { ClaimedExecution } from "./queries.ts";

const name = "invoke_agent";

const eventOf = ({ event_id, id, place }: ClaimedExecution) => ({ id: event_id ?? id, traceparent: place?.traceparent ?? null });
const keyOf = ({ id }: ClaimedExecution, attempt: number) => `${id} ${attempt}`;
const attributesOf = (execution: ClaimedExecution, attempt: number) => ({
  [genAi.operation]: name,
  [ownAttributes.event]: eventOf(execution).id,
  [ownAttributes.execution]: execution.id,
  [ownAttributes.task]: execution.task_id,
  [ownAttributes.attempt]: attempt,
  ...(execution.agent_id !== null && { [genAi.agent]: execution.agent_id }),
});

/** Runs an attempt as a span of its event's trace. */
export function inAttemptSpan<T>(execution: ClaimedExecution, run: () => Promise<T>): Promise<T> {
  const { attempts } = execution;
  return inTrace(eventOf(execution), name, attributesOf(execution, attempts), run, keyOf(execution, attempts));
}

/**
 * Records the span of the previous attempt if its process was killed. Such a process exports only the spans that had ended. The
 * recorded span has the id that the killed process gave it, so it is the parent of the exported ones. Never rejects.
 */
export async function recordLostAttempt(
  execution: ClaimedExecution,
  { sql, log }: { readonly sql: Sql; readonly log: Log },
): Promise<void> {
  if (!recordsSpans() || execution.deaths === 0) return;
  const attempt = execution.attempts - 1;
  try {
    const lostAttempt = await findLostAttempt(sql, execution.id, attempt);
    if (!lostAttempt) return;
    recordSpan(eventOf(execution), {
      key: keyOf(execution, attempt),
      name,
      attributes: { ...attributesOf(execution, attempt), [ownAttributes.lost]: true },
      ...lostAttempt,
      error: "The worker running this attempt exited without an outcome. The span ends when another worker noticed.",
    });
  } catch (error) {
    log.warn("failed to record the span of a lost attempt", { error });
  }
}
