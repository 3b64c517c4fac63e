import type { WebhookEvent } from "../events/queries.ts";
import type { Execution } from "../executions/queries.ts";
import { amountText } from "../platform/amount-text.ts";
import type { DeferredSummary } from "./queries.ts";

/** A reason to use within a sentence, without its final full stop. */
const clause = (reason: string | null): string | undefined => reason?.replace(/\.+$/, "");

/** The decision about an event, in plain words. */
export function eventVerdict(event: Pick<WebhookEvent, "outcome" | "reason" | "canonical_triggers">, executions: number): string {
  const { outcome, reason, canonical_triggers: triggers } = event;
  if (outcome !== "dispatched")
    return `${outcome === "discarded" ? "Discarded" : "Refused"}: ${clause(reason) ?? "no reason is stored"}.`;
  const fired = `Fired ${triggers.join(", ")}`;
  if (executions === 0) return `${fired}, but started nothing: ${clause(reason) ?? "no task is mapped to it"}.`;
  return `${fired} and started ${amountText(executions, "task")}.`;
}

export function executionVerdict(execution: Omit<Execution, "result">): string {
  const { state, attempts, error, waiting_for, held_reason, reason } = execution;
  const tries = amountText(attempts, "attempt");
  switch (state) {
    case "succeeded":
      return successVerdict(execution);
    case "failed":
      return `Failed after ${tries}: ${clause(error) ?? "no error is stored"}.`;
    case "cancelled":
      return `Cancelled${reason ? `: ${clause(reason)}` : ""}.`;
    case "held":
      return `Held${until(execution)}: ${clause(held_reason ?? waiting_for) ?? "no reason is stored"}.`;
    case "running":
      return `Running, ${tries} so far.`;
    default:
      return waitVerdict(execution);
  }
}

function successVerdict({ dry_run, result_url, error }: Omit<Execution, "result">): string {
  if (dry_run) return "Dry run: nothing was written; see the execution for what it would write.";
  if (result_url) return "Succeeded, and its comment was posted.";
  return `Succeeded, but no comment was posted${error ? `: ${clause(error)}` : ""}.`;
}

function waitVerdict(execution: Omit<Execution, "result">): string {
  const { waiting_for } = execution;
  const next = nextAttempt(execution);
  if (waiting_for?.includes(" is paused: ")) return `Waiting: ${clause(waiting_for)}.`;
  // The reason itself says when it is retried.
  if (waiting_for?.includes(" is unavailable until ")) return `Waiting for ${clause(waiting_for)}.`;
  if (waiting_for?.startsWith("the next attempt,"))
    return `Waiting for the next attempt${next ? ` at ${next}` : ""}${clause(waiting_for.slice("the next attempt".length))}.`;
  return `Waiting for ${clause(waiting_for) ?? "a free worker"}${until(execution)}.`;
}

/** Time of the next attempt, without fractions of a second. */
const nextAttempt = ({ next_attempt_at }: Pick<Execution, "next_attempt_at">) => next_attempt_at?.replace(/\.\d+Z$/, "Z");

function until(execution: Pick<Execution, "next_attempt_at">): string {
  const next = nextAttempt(execution);
  return next === undefined ? "" : `, until ${next}`;
}

interface JudgedDelivery {
  readonly verdict: string;
  readonly executions: readonly { readonly verdict: string; readonly task_id: string }[];
}

/** Webhooks of the source that may be about the issue. */
interface Unassigned {
  readonly refusedEvents: readonly Pick<WebhookEvent, "reason" | "received_at">[];
  readonly deferred: DeferredSummary | null;
}

/** Explains the state of an issue: the newest delivery, and its result. */
export function subjectVerdict(deliveries: readonly JudgedDelivery[], { refusedEvents: refused, deferred }: Unassigned): string {
  const [latest] = deliveries;
  const waits = deferred ? ` ${deferredSentence(deferred)}` : "";
  const [refusal] = refused;
  const latestRefusal = refusal
    ? ` The latest refused delivery of this source, at ${refusal.received_at}: ${clause(refusal.reason) ?? "no reason is stored"}.`
    : "";
  if (!latest)
    return `No deliveries are stored for this issue.${waits}${latestRefusal || (waits ? "" : " No deliveries were refused in the last day.")}`;
  const outcomes = latest.executions.map(({ task_id, verdict }) => ` ${task_id}: ${verdict}`).join("");
  return `${latest.verdict}${outcomes}${waits}${latest.executions.length === 0 ? latestRefusal : ""}`;
}

function deferredSentence({ count, plugin, oldest_at }: DeferredSummary): string {
  const [webhooks, them] =
    count === 1 ? ["1 webhook of this source waits", "it"] : [`${count} webhooks of this source wait`, "them"];
  return `${webhooks} since ${oldest_at} because the plugin ${plugin} is not running. GET /api/status says why. Signalbox reads ${them} once the plugin runs.`;
}
