import type { NewComment, PostedComment } from "@signalbox/sdk";
import type { Sql } from "../../platform/database/client.ts";
import { newId } from "../../platform/ids.ts";
import { sleep } from "../../platform/retry.ts";
import { currentFence, LinksOfWrite, runFenced, sendUnder, type WriteFence } from "../../platform/write-fence.ts";
import type { Connection } from "../../plugins/connections.ts";
import { type LivingComment, type LivingPlace, storeLiving, takeLiving } from "./queries.ts";

/** What a write does with the living comment. */
export type LivingChange =
  | { readonly kind: "show"; readonly text: NewComment }
  | { readonly kind: "remove" }
  | { readonly kind: "leave" };

interface LivingResult {
  readonly change: LivingChange["kind"];
  /** The comment after the write; `null` if there is none. */
  readonly comment: PostedComment | null;
}

/** One write of a living comment: the first posts it, the others edit it. */
export interface LivingWrite {
  readonly sql: Sql;
  readonly connection: Connection;
  readonly subject: string;
  readonly agentId: string | null;
  readonly executionId: string;
  /** Key of this write, which becomes the comment's marker and so shows whether the write succeeded. */
  readonly key: string;
  /** Called when the comment is leased. */
  readonly decide: (found: LivingComment) => Promise<LivingChange> | LivingChange;
  /** Everything except the text. Used to find the comment. */
  readonly post: NewComment;
  /**
   * `answer`: of the execution, whose progress then no longer changes the comment. `correction`: shows again what was written before,
   * and posts no new comment if the platform no longer has this one.
   */
  readonly purpose: "answer" | "progress" | "correction";
  /** How long its requests may be in flight, milliseconds: the next writer waits for as long if this one dies. */
  readonly windowMs: number;
  /** Called if the platform may still carry out a request of an earlier write. */
  readonly onLost?: () => void;
  /** Whether a lost write was looked for, and is not looked for again if the comment shows the write with the key `shown`. */
  readonly forgetsLost?: (lost: string, shown: string) => boolean;
}

const waitMs = 250;
/** Most lost writes that are remembered. */
const maxLost = 8;

export const isLiving = (presence: string, { source: { adapter: source } }: Connection): boolean =>
  presence === "comment" && source.update !== undefined;

/**
 * Posts or edits the living comment of an agent on an issue: the one comment that the agent keeps up to date. Only one
 * replica writes at a time, and it looks for an unfinished write first. So there are never two comments, and no edit is
 * made twice.
 */
export async function writeLiving(write: LivingWrite, signal: AbortSignal): Promise<LivingResult> {
  const { sql, key, windowMs } = write;
  const livingPlace = livingPlaceOf(write);
  const lease = newId();
  for (;;) {
    signal.throwIfAborted();
    // Its requests end before its lease does.
    const deadline = performance.now() + windowMs * 0.9;
    const answeredBy = write.purpose === "answer" ? write.executionId : null;
    const livingComment = await takeLiving(sql, livingPlace, { lease, key, leaseMs: windowMs, answeredBy });
    if (!livingComment) {
      await sleep(waitMs, signal);
      continue;
    }
    const fence = new LivingFence(deadline, currentFence());
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, Math.floor(deadline - performance.now())))]);
      return await runFenced(fence, () => carryOut(write, livingComment, { livingPlace, lease, fence, signal: limited }));
    } catch (error) {
      // If a request may still be in flight, the next writer must wait for the end of the lease.
      if (!fence.mayBeUnderWay) {
        const pending_key = fence.mayHaveWritten ? key : livingComment.pending_key;
        const restored = write.purpose === "answer" && !fence.hasSent ? { answered_by: livingComment.answered_by } : {};
        await storeLiving(sql, livingPlace, lease, { pending_key, ...restored, ends: true }).catch(() => {});
      }
      throw error;
    } finally {
      fence.close();
    }
  }
}

export const livingPlaceOf = ({
  subject,
  agentId,
  post,
  connection,
}: Pick<LivingWrite, "subject" | "agentId" | "post" | "connection">): LivingPlace => ({
  subject,
  agent: agentId ?? "",
  place: `${post.private ? "private" : "public"}${post.thread ? ` ${post.thread}` : ""}`,
  connection: connection.id,
});

interface LeasedComment {
  readonly livingPlace: LivingPlace;
  readonly lease: string;
  readonly fence: LivingFence;
  readonly signal: AbortSignal;
}

async function carryOut(write: LivingWrite, livingComment: LivingComment, leasedComment: LeasedComment): Promise<LivingResult> {
  const { sql, key, executionId, purpose } = write;
  const { livingPlace, lease, fence } = leasedComment;
  const current = await resolveCurrent(write, livingComment, leasedComment);
  // A late edit replaces what the comment shows then, and a late first write makes a second comment.
  let lost_keys = current.isOpen ? withLost(livingComment.lost_keys, livingComment.pending_key) : livingComment.lost_keys;
  if (lost_keys.length > 0 || (livingComment.pending_key !== null && livingComment.pending_key !== key)) write.onLost?.();
  const done = async (change: "show" | "remove", comment: PostedComment | null): Promise<LivingResult> => {
    await storeLiving(sql, livingPlace, lease, {
      comment_id: comment?.id ?? null,
      url: comment?.url ?? null,
      key: comment && key,
      pending_key: null,
      lost_keys: fence.mayBeUnderWay ? withLost(lost_keys, key) : lost_keys,
      ends: true,
      ...(purpose === "answer" && { answered_by: executionId }),
    });
    return { change, comment };
  };
  if (current.comment && current.key === key) return done("show", current.comment);
  if (livingComment.pending_key !== null && (livingComment.pending_key !== key || current.isOpen)) {
    const { id = null, url = null } = current.comment ?? {};
    await storeLiving(sql, livingPlace, lease, {
      comment_id: id,
      url,
      key: current.key,
      pending_key: key,
      lost_keys,
      ends: false,
    });
  }
  const change = await write.decide({ ...livingComment, comment_id: current.comment?.id ?? null, key: current.key, lost_keys });
  const { key: shown } = current;
  if (shown !== null) lost_keys = lost_keys.filter((lost) => !write.forgetsLost?.(lost, shown));
  switch (change.kind) {
    case "show":
      return done(change.kind, await show(write, current.comment, change.text, leasedComment));
    case "remove":
      return done(change.kind, await remove(write, current.comment, leasedComment));
    case "leave":
      await storeLiving(sql, livingPlace, lease, { pending_key: null, lost_keys, ends: true });
      return { change: change.kind, comment: current.comment };
  }
}

const withLost = (lost: readonly string[], key: string | null): readonly string[] =>
  key === null || lost.includes(key) ? lost : [...lost, key].slice(-maxLost);

/**
 * The current comment with the key of its last write. An unfinished write may have succeeded; `isOpen`: it has not succeeded yet,
 * but still may.
 */
async function resolveCurrent(write: LivingWrite, found: LivingComment, { signal }: LeasedComment) {
  const { comment_id, url, key, pending_key } = found;
  const comment = comment_id === null ? null : { id: comment_id, url: url ?? "" };
  if (pending_key === null) return { comment, key, isOpen: false };
  const { source, settings } = write.connection;
  const written = await source.adapter.find(write.post, { signal, connection: settings, key: pending_key });
  return written ? { comment: written, key: pending_key, isOpen: false } : { comment, key, isOpen: true };
}

async function remove(
  { connection, key, post }: LivingWrite,
  comment: PostedComment | null,
  { signal }: LeasedComment,
): Promise<null> {
  if (comment) await connection.source.adapter.retract?.(post, comment, { signal, connection: connection.settings, key });
  return null;
}

async function show(
  { connection, key, purpose }: LivingWrite,
  comment: PostedComment | null,
  text: NewComment,
  { signal }: LeasedComment,
): Promise<PostedComment | null> {
  const { adapter: source } = connection.source;
  const call = { signal, connection: connection.settings, key };
  const deliver = () => (purpose === "correction" ? null : source.deliver(text, call));
  if (!comment || !source.update) return deliver();
  try {
    return await source.update(text, comment, call);
  } catch (error) {
    // Deleted at the platform: the next write posts a new one.
    if ((error as { code?: unknown } | null)?.code !== "not_found") throw error;
    return deliver();
  }
}

/** Allows requests until the lease of the comment ends, if the fence of their run allows them too. */
class LivingFence implements WriteFence {
  readonly #until: number;
  readonly #outer: WriteFence | undefined;
  readonly #links = new LinksOfWrite();
  #sent = 0;
  #answered = 0;
  #accepted = false;

  constructor(until: number, outer: WriteFence | undefined) {
    this.#until = until;
    this.#outer = outer;
  }
  get hasSent(): boolean {
    return this.#sent > 0;
  }
  get mayBeUnderWay(): boolean {
    return this.#sent > this.#answered;
  }
  /** Whether the platform accepted a request. */
  get mayHaveWritten(): boolean {
    return this.#accepted;
  }
  close(): void {
    this.#links.close();
  }
  untilClosed(unlink: () => void): void {
    this.#links.add(unlink);
  }
  send(request: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    return sendUnder(this.#outer ? [this.#outer] : [], async (signal) => {
      const left = Math.floor(this.#until - performance.now());
      if (left <= 0) throw new DOMException("Timed out while writing the living comment.", "TimeoutError");
      this.#sent++;
      const response = await request(AbortSignal.any([signal, AbortSignal.timeout(left)]));
      // A gateway's error says nothing about the server behind it.
      if (response.status < 500) this.#answered++;
      this.#accepted ||= response.status < 400;
      return response;
    });
  }
}
