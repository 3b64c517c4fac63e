import type { CallContext, NewComment, PostedComment } from "@signalbox/sdk";
import { connectionTarget } from "../breakers/breakers.ts";
import type { OutboxFilter } from "../outbox/open.ts";
import { ownWrite } from "../own-writes/own-write.ts";
import { withDeadline } from "../platform/abortable.ts";
import { retryRemote, writeOnce } from "../platform/remote-calls.ts";
import { Failure, maxRetryMs } from "../platform/retry.ts";
import type { Connection } from "../plugins/connections.ts";
import { projectKeyOf } from "../policy/policies.ts";
import { type Approval, isApproved } from "./approval.ts";
import { isLiving, type LivingWrite, writeLiving } from "./living-comment/write-living.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { Run, RunDeps } from "./run-context.ts";
import type { StepRow } from "./steps/rows.ts";
import { runWrite } from "./write-step.ts";

/** Timeout of one call of a source's `deliver` or `find`. */
const callMs = 90_000;

/** Where the answer was posted; without a URL, `error` may say why it was not. */
interface PostResult {
  readonly url: string | null;
  readonly error: string | null;
}
const notPosted: PostResult = { url: null, error: null };

/** The stored part of a post that is needed to find it again: its text, and its place unless that is the issue. */
export interface PostInput {
  readonly body: string;
  readonly private?: true;
  readonly thread?: string;
}
const inputOf = ({ place }: ClaimedExecution, body: string): PostInput => ({
  body,
  ...(place?.private && { private: true }),
  ...(place?.thread && { thread: place.thread }),
});

/**
 * Posts the final answer once, to the issue or to the thread that the event names. If the event is private, the answer is
 * private too; a source without private comments posts nothing. Like a tool's write, the post is stored as started before
 * it is sent, and looked for before it is repeated.
 */
export async function postAnswer(
  run: Run & { readonly approval: Approval; readonly outbox: OutboxFilter },
  agentId: string | null,
  body: string,
  deps: RunDeps,
): Promise<PostResult> {
  const { execution, transcript, signal, approval, outbox } = run;
  const { project, issue } = execution;
  signal.throwIfAborted();
  if (project === null || issue === null) return notPosted;
  const before = transcript.steps.find((step) => step.kind === "post" && (step.state !== "failed" || step.decided));
  if (before && before.state !== "started" && !isApproved(before))
    return { url: (before.output as PostedComment | null)?.url ?? null, error: before.error };
  const connection = await deps.connectionFor(execution.source, execution, agentId);
  if (!connection && !before) {
    // The source comes from a webhook mapping, so it has no tracker.
    deps.log.info("no plugin posts for this source; the answer is stored as the result only", { source: execution.source });
    return notPosted;
  }
  const input = (before?.input as PostInput | null) ?? inputOf(execution, await outbox.answer(body, connection));
  const step = before ?? transcript.add({ kind: "post", state: "started", name: execution.source, agent_id: agentId, input });
  if (!deps.trackerUpdates) {
    const failure = { state: "failed", error: "nothing was posted: TRACKER_UPDATES_ENABLED is false" } as const;
    // A person approved this answer, so the transcript says that it was not posted.
    transcript.complete(step, before?.decided ? failure : { state: "dry_run" });
    return notPosted;
  }
  if (!connection || connection.missingSettings.length > 0) {
    const missing = connection?.missingSettings.join(", ") ?? "plugin";
    const reason = `nothing was posted: ${execution.source} is not configured (missing ${missing})`;
    deps.log.warn("answer not posted", { reason });
    transcript.complete(step, { state: "failed", error: reason });
    return { url: null, error: reason };
  }
  if (!before && approval.needs("comment")) {
    transcript.complete(step, { state: "proposed", expires_ms: approval.ttlMs });
    return notPosted;
  }
  return sendAnswer(run, step, connection, deps);
}

/** The write of an answer in the living comment of its agent. */
const livingWriteOf = (
  { execution, limits }: Run,
  step: StepRow,
  connection: Connection,
  post: NewComment,
  { sql }: RunDeps,
): LivingWrite => ({
  sql,
  connection,
  subject: execution.subject ?? "",
  agentId: step.agent_id,
  executionId: execution.id,
  key: step.key as string,
  decide: () => ({ kind: "show", text: post }),
  post,
  purpose: "answer",
  windowMs: limits.windowMs,
});

/** Only for the type: after a successful write, the living comment exists. */
const noComment: PostedComment = { id: "", url: "" };

/** Posts the answer of a step that is new, was approved, or was started by an earlier attempt. */
async function sendAnswer(run: Run, step: StepRow, connection: Connection, deps: RunDeps): Promise<PostResult> {
  const { execution, transcript, signal, limits } = run;
  const resumed = step.state === "started" && step.key !== null;
  transcript.complete(step, { state: "started", error: null });
  const input = step.input as PostInput;
  const subject = { project: execution.project ?? "", issue: execution.issue ?? "" };
  const key = `${execution.id}.${step.seq}`;
  step.key = key;
  step.wrote = ownWrite(step, { execution_id: execution.id, subject: execution.subject, kind: "comment" }, [input.body]);
  const { adapter: source } = connection.source;
  const post = { subject, ...input };
  const living = livingWriteOf(run, step, connection, post, deps);
  /** An earlier write of the living comment may still arrive: it would replace the answer, or make a second comment. */
  let isInDoubt = false as boolean;
  const onLost = () => {
    isInDoubt = true;
  };
  step.is_living = isLiving(deps.policies.of(step.agent_id, projectKeyOf(execution)).presence.value, connection);
  const began = performance.now();
  limits.lease.progress(maxRetryMs(2 * callMs) + (step.in_flight_ms ?? 0));
  const inTime = <T>(until: AbortSignal, run: (context: CallContext) => Promise<T>) =>
    withDeadline(until, callMs, (limited) => run({ signal: limited, connection: connection.settings, key }));
  const find = (until: AbortSignal) => inTime(until, (context) => source.find(post, context));
  const write = { step, log: transcript, resumed, patch: { agent_id: step.agent_id }, find };
  const deliver = (until: AbortSignal) => inTime(until, (context) => source.deliver(post, context));
  // Looks for earlier writes itself.
  const deliverLiving = async (until: AbortSignal) =>
    (await inTime(until, (context) => writeLiving({ ...living, onLost }, context.signal))).comment ?? noComment;
  const send = (until: AbortSignal): Promise<PostedComment> =>
    step.is_living
      ? retryRemote(() => deliverLiving(until), signal)
      : writeOnce(
          () => find(until),
          () => deliver(until),
          signal,
          resumed,
        );
  const target = connectionTarget(execution.source, connection.id, "write");
  try {
    const posted = await deps.breakers.guard(execution, target, signal, () => runWrite(write, limits, send));
    const duration_ms = Math.round(performance.now() - began);
    const check = isInDoubt && { check_ms: limits.windowMs };
    transcript.complete(step, { state: "succeeded", output: posted, duration_ms, ...check });
    return { url: posted.url, error: null };
  } catch (error) {
    const reason = unsupportedReason(error);
    if (reason === null) throw error;
    transcript.complete(step, { state: "failed", error: reason, in_flight_ms: null });
    deps.log.warn("answer not posted", { reason });
    return { url: null, error: reason };
  }
}

/** Why the platform does not support posting the answer there; `null` for all other errors. */
function unsupportedReason(error: unknown): string | null {
  if (!(error instanceof Failure) || (error.cause as { code?: unknown } | undefined)?.code !== "unsupported") return null;
  return `nothing was posted: ${error.message}`;
}
