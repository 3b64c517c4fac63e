import type { PostedComment } from "@signalbox/sdk";
import { reconcile } from "../platform/reconcile.ts";
import { longestRetryMs } from "../platform/retry.ts";
import type { Run, RunDeps } from "./run.ts";
import { runWrite } from "./write-step.ts";

/** Timeout of one call of a source's `deliver` or `find`. */
const callMs = 90_000;

/**
 * Posts the final answer to the issue, once. Returns its address, or `null` where there is nothing to post. Like a tool's
 * write it is stored as started before it is sent, and looked for before it is repeated.
 */
export async function postAnswer(
  { execution, transcript, signal, limits }: Run,
  agentId: string | null,
  body: string,
  deps: RunDeps,
): Promise<string | null> {
  const { project, issue } = execution;
  signal.throwIfAborted();
  if (project === null || issue === null) return null;
  const before = transcript.steps.find((step) => step.kind === "post" && step.state !== "failed");
  if (before && before.state !== "started") return (before.output as PostedComment | null)?.url ?? null;
  const connection = await deps.connectionFor(execution.source, execution, agentId);
  if (!connection && !before) {
    // The source comes from a webhook mapping: there is no tracker behind it.
    deps.log.info("no plugin posts for this source; the answer is stored as the result only", {
      execution: execution.id,
      source: execution.source,
    });
    return null;
  }
  const step =
    before ?? transcript.add({ kind: "post", state: "started", name: execution.source, agent_id: agentId, input: { body } });
  if (!deps.trackerUpdates || !connection || connection.missing.length > 0) {
    const reason = `nothing was posted: ${execution.source} is not configured (missing ${connection?.missing.join(", ") ?? "plugin"})`;
    if (deps.trackerUpdates) deps.log.warn("answer not posted", { execution: execution.id, reason });
    transcript.complete(step, deps.trackerUpdates ? { state: "failed", error: reason } : { state: "dry_run" });
    return null;
  }
  const key = `${execution.id}.${step.seq}`;
  step.key = key;
  const { source } = connection.source;
  const began = performance.now();
  const post = { subject: { project, issue }, body };
  limits.lease.progress(longestRetryMs(2 * callMs) + (step.in_flight_ms ?? 0));
  const write = { step, log: transcript, resumed: before !== undefined, patch: { agent_id: agentId } };
  const posted = await runWrite(write, limits, (until) => {
    const call = () => ({ signal: AbortSignal.any([until, AbortSignal.timeout(callMs)]), connection: connection.settings, key });
    return reconcile<PostedComment>(
      () => source.find(post, call()),
      () => source.deliver(post, call()),
      signal,
      write.resumed,
    );
  });
  transcript.complete(step, { state: "succeeded", output: posted, duration_ms: Math.round(performance.now() - began) });
  return posted.url;
}
