import type { PostedComment } from "@signalbox/sdk";
import type { Report } from "../../platform/log.ts";
import { isCopy, type LivingComment, readLiving } from "./queries.ts";
import { type LivingChange, type LivingWrite, livingPlaceOf, writeLiving } from "./write-living.ts";

/** Waits between the checks, in milliseconds. A tracker may carry out a request long after its client has disconnected. */
export const recheckDelaysMs: readonly number[] = [15_000, 60_000, 300_000, 3_600_000];

interface Correction extends Omit<LivingWrite, "purpose" | "forgetsLost" | "onLost"> {
  /** Whether the comment should show the text of `decide`. */
  readonly isShown: (found: LivingComment) => boolean;
  /** The first key under which it was written. */
  readonly firstKey: string;
  /** No further check follows. */
  readonly isLastCheck: boolean;
}

interface CorrectionResult {
  /** The comment, if its text was written again: an earlier edit was carried out late and had replaced it. */
  readonly restoredComment: PostedComment | null;
  /** Comments that a late first write had made; they were deleted. */
  readonly removedCopies: readonly PostedComment[];
  /** The same, but the platform cannot delete them. */
  readonly remainingCopies: readonly PostedComment[];
}

/** What the platform shows. It is read without the lease of the comment, because it may take longer than a lease. */
interface ShownComments {
  /** The comments of each lost write. */
  readonly copies: ReadonlyMap<string, readonly PostedComment[]>;
  /** The key of the last write, if no comment shows it. */
  readonly missingKey: string | null;
}

/**
 * Looks for requests that the platform carried out late: deletes comments of lost first writes, and writes the text again that a lost
 * edit replaced. A comment that a person has deleted is not posted again.
 */
export async function correctLiving(write: Correction, signal: AbortSignal): Promise<CorrectionResult> {
  const { connection, post, isShown, firstKey, isLastCheck } = write;
  const { adapter } = connection.source;
  const [removedCopies, remainingCopies]: [PostedComment[], PostedComment[]] = [[], []];
  const { copies, missingKey } = await readShown(write, signal);
  if (missingKey === null && !isLastCheck && [...copies.values()].every((all) => all.length === 0))
    return { restoredComment: null, removedCopies, remainingCopies };
  const decide = async (livingComment: LivingComment): Promise<LivingChange> => {
    for (const key of livingComment.lost_keys) {
      for (const copy of copies.get(key) ?? []) {
        if (copy.id === livingComment.comment_id || !(await isCopy(write.sql, key, copy.id))) continue;
        await adapter.retract?.(post, copy, { signal, connection: connection.settings, key });
        (adapter.retract ? removedCopies : remainingCopies).push(copy);
      }
    }
    // Another writer may have changed the comment since the check.
    const isReplaced = isShown(livingComment) && livingComment.key !== null && livingComment.key === missingKey;
    return isReplaced ? write.decide(livingComment) : { kind: "leave" };
  };
  const isOurs = (key: string) => key === firstKey || key.startsWith(`${firstKey}.`);
  const forgetsLost = (lost: string, shown: string) => isLastCheck && copies.has(lost) && isOurs(shown);
  const { change, comment } = await writeLiving({ ...write, decide, purpose: "correction", forgetsLost }, signal);
  return { restoredComment: change === "show" ? comment : null, removedCopies, remainingCopies };
}

async function readShown(write: Correction, signal: AbortSignal): Promise<ShownComments> {
  const { connection, post } = write;
  const { adapter } = connection.source;
  const call = (key: string) => ({ signal, connection: connection.settings, key });
  const copies = new Map<string, readonly PostedComment[]>();
  const seen = await readLiving(write.sql, livingPlaceOf(write));
  for (const key of seen?.lost_keys ?? []) copies.set(key, (await adapter.findAll?.(post, call(key))) ?? []);
  const key = seen?.key ?? null;
  const isMissing = key !== null && (await adapter.find(post, call(key))) === null;
  return { copies, missingKey: isMissing ? key : null };
}

/** Reports to the watchdog what was carried out late. */
export function warnOfLateWrites(
  { restoredComment, removedCopies, remainingCopies }: CorrectionResult,
  context: Record<string, unknown>,
  warn: Report,
): void {
  if (restoredComment)
    warn("a late edit replaced the text of a living comment; the text was restored", {
      ...context,
      comment: restoredComment.url,
    });
  const urls = (comments: readonly PostedComment[]) => comments.map(({ url }) => url);
  if (removedCopies.length > 0)
    warn("a late request posted a living comment a second time; the copy was removed", {
      ...context,
      duplicates: urls(removedCopies),
    });
  if (remainingCopies.length > 0)
    warn("a late request posted a living comment a second time, and the platform cannot remove the copy; remove it by hand", {
      ...context,
      duplicates: urls(remainingCopies),
    });
}
