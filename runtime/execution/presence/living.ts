import type { NewComment, PostedComment } from "@signalbox/sdk";
import type { Sql } from "../../platform/database/client.ts";
import { newId } from "../../platform/ids.ts";
import { sleep } from "../../platform/retry.ts";
import { currentFence, runFenced, sendUnder, type WriteFence } from "../../platform/write-fence.ts";
import type { Connection } from "../../plugins/connections.ts";
import { type LivingComment, type LivingPlace, storeLiving, takeLiving } from "./living-queries.ts";

/** One write of a living comment: the first posts it, the others edit it. */
export interface LivingWrite {
  readonly sql: Sql;
  readonly connection: Connection;
  readonly subject: string;
  readonly agentId: string | null;
  readonly executionId: string;
  /** Key of this write, which becomes the comment's marker and so shows whether the write succeeded. */
  readonly key: string;
  /** Returns the new text; `null` deletes the comment, `undefined` leaves it unchanged. */
  readonly content: (found: LivingComment) => Promise<NewComment | null | undefined> | NewComment | null | undefined;
  /** Everything except the text. Used to find the comment. */
  readonly post: NewComment;
  /** The write contains the answer of its execution, so progress updates of that execution no longer change the comment. */
  readonly isAnswer: boolean;
  /** Posts no new comment if the platform no longer has this one. */
  readonly editsOnly?: boolean;
}

/** Lease of a writer. Its requests end before it does. */
const leaseMs = 30_000;
const marginMs = 5_000;
const waitMs = 250;

export const isLiving = (presence: string, { source: { adapter: source } }: Connection): boolean =>
  presence === "comment" && source.update !== undefined;

/**
 * Posts or edits the living comment of an agent on an issue: the one comment that the agent keeps up to date. Only one
 * replica writes at a time, and it looks for an unfinished write first. So there are never two comments, and no edit is
 * made twice.
 */
export async function writeLiving(write: LivingWrite, signal: AbortSignal): Promise<PostedComment | null> {
  const { sql, key } = write;
  const living = placeOf(write);
  const lease = newId();
  for (;;) {
    signal.throwIfAborted();
    const until = performance.now() + leaseMs - marginMs;
    const found = await takeLiving(sql, living, { lease, key, leaseMs, answeredBy: write.isAnswer ? write.executionId : null });
    if (!found) {
      await sleep(waitMs, signal);
      continue;
    }
    const fence = new LivingFence(until, currentFence());
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, Math.floor(until - performance.now())))]);
      return await runFenced(fence, () => carryOut(write, found, { living, lease, signal: limited }));
    } catch (error) {
      // If a request may still be in flight, the next writer must wait for the end of the lease.
      if (!fence.mayBeUnderWay) {
        const pending_key = fence.hasSent ? key : found.unfinished;
        const restored = write.isAnswer && !fence.hasSent ? { answered_by: found.answered_by } : {};
        await storeLiving(sql, living, lease, { pending_key, ...restored, ends: true }).catch(() => {});
      }
      throw error;
    }
  }
}

const placeOf = ({ subject, agentId, post, connection }: LivingWrite): LivingPlace => ({
  subject,
  agent: agentId ?? "",
  place: `${post.private ? "private" : "public"}${post.thread ? ` ${post.thread}` : ""}`,
  connection: connection.id,
});

interface Held {
  readonly living: LivingPlace;
  readonly lease: string;
  readonly signal: AbortSignal;
}

async function carryOut(write: LivingWrite, found: LivingComment, held: Held): Promise<PostedComment | null> {
  const { sql, key, executionId, isAnswer } = write;
  const { living, lease } = held;
  const before = await resolved(write, found, held);
  // An unfinished edit may still arrive and replace an answer: the writer of the answer must know.
  const pending_key = before.isOpen && before.comment && !isAnswer ? found.unfinished : null;
  const done = (comment: PostedComment | null) =>
    storeLiving(sql, living, lease, {
      comment_id: comment?.id ?? null,
      url: comment?.url ?? null,
      key: comment && key,
      pending_key,
      ends: true,
      ...(isAnswer && { answered_by: executionId }),
    }).then(() => comment);
  if (before.comment && before.key === key) return done(before.comment);
  if (found.unfinished !== null && found.unfinished !== key) {
    const { id = null, url = null } = before.comment ?? {};
    await storeLiving(sql, living, lease, { comment_id: id, url, key: before.key, pending_key: key, ends: false });
  }
  const content = await write.content({ ...found, comment_id: before.comment?.id ?? null });
  if (content === undefined) {
    await storeLiving(sql, living, lease, { pending_key, ends: true });
    return before.comment;
  }
  return done(await replace(write, before.comment, content, held));
}

/**
 * The current comment with the key of its last write. An unfinished write may have succeeded; `isOpen`: it has not succeeded yet,
 * but still may.
 */
async function resolved(write: LivingWrite, found: LivingComment, { signal }: Held) {
  const { comment_id, url, key, unfinished } = found;
  const comment = comment_id === null ? null : { id: comment_id, url: url ?? "" };
  if (unfinished === null) return { comment, key, isOpen: false };
  const { source, settings } = write.connection;
  const written = await source.adapter.find(write.post, { signal, connection: settings, key: unfinished });
  return written ? { comment: written, key: unfinished, isOpen: false } : { comment, key, isOpen: true };
}

async function replace(
  { connection, key, post, editsOnly = false }: LivingWrite,
  comment: PostedComment | null,
  content: NewComment | null,
  { signal }: Held,
): Promise<PostedComment | null> {
  const { adapter: source } = connection.source;
  const call = { signal, connection: connection.settings, key };
  if (content === null) {
    if (comment) await source.retract?.(post, comment, call);
    return null;
  }
  const deliver = () => (editsOnly ? null : source.deliver(content, call));
  if (!comment || !source.update) return deliver();
  try {
    return await source.update(content, comment, call);
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
  #sent = 0;
  #answered = 0;

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
  send(request: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    return sendUnder(this.#outer ? [this.#outer] : [], async (signal) => {
      const left = Math.floor(this.#until - performance.now());
      if (left <= 0) throw new DOMException("Timed out while writing the living comment.", "TimeoutError");
      this.#sent++;
      const response = await request(AbortSignal.any([signal, AbortSignal.timeout(left)]));
      // A gateway's error says nothing about the server behind it.
      if (response.status < 500) this.#answered++;
      return response;
    });
  }
}
