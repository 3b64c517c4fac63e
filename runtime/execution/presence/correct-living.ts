import type { PostedComment } from "@signalbox/sdk";
import type { Report } from "../../platform/log.ts";
import { type LivingWrite, writeLiving } from "./living.ts";
import { isCopy, type LivingComment } from "./living-queries.ts";

/** Waits between the looks, in milliseconds. A tracker may carry out a request long after its client has disconnected. */
export const lookAgainMs: readonly number[] = [15_000, 60_000, 300_000, 3_600_000];

export interface Correction extends Omit<LivingWrite, "isAnswer" | "editsOnly" | "forgetsLost" | "onLost"> {
  /** Whether the comment should show `content`. */
  readonly isShown: (found: LivingComment) => boolean;
  /** The first key under which it was written. */
  readonly firstKey: string;
  /** No further look follows. */
  readonly isLastLook: boolean;
}

export interface Corrected {
  /** The comment, if its text was written again: an earlier edit was carried out late and had replaced it. */
  readonly restored: PostedComment | null;
  /** Comments that a late first write had made; they were deleted. */
  readonly removed: readonly PostedComment[];
  /** The same, but the platform cannot delete them. */
  readonly left: readonly PostedComment[];
}

/**
 * Looks for requests that the platform carried out late: deletes comments of lost first writes, and writes the text again that a lost
 * edit replaced. A comment that a person has deleted is not posted again.
 */
export async function correctLiving(write: Correction, signal: AbortSignal): Promise<Corrected> {
  const { connection, post, isShown, firstKey, isLastLook } = write;
  const { adapter } = connection.source;
  const [removed, left]: [PostedComment[], PostedComment[]] = [[], []];
  let isRestored = false as boolean;
  const call = (key: string) => ({ signal, connection: connection.settings, key });
  const content = async (found: LivingComment) => {
    for (const key of found.lost_keys) {
      const copies = (await adapter.findAll?.(post, call(key))) ?? [];
      for (const copy of copies) {
        if (copy.id === found.comment_id || !(await isCopy(write.sql, key, copy.id))) continue;
        await adapter.retract?.(post, copy, call(key));
        (adapter.retract ? removed : left).push(copy);
      }
    }
    isRestored = isShown(found) && found.key !== null && (await adapter.find(post, call(found.key))) === null;
    return isRestored ? write.content(found) : undefined;
  };
  const isOurs = (key: string) => key === firstKey || key.startsWith(`${firstKey}.`);
  const again = { ...write, content, isAnswer: false, editsOnly: true, ...(isLastLook && { forgetsLost: isOurs }) };
  const comment = await writeLiving(again, signal);
  return { restored: isRestored ? comment : null, removed, left };
}

/** Tells the watchdog what was carried out late. */
export function warnOfLate({ restored, removed, left }: Corrected, context: Record<string, unknown>, warn: Report): void {
  if (restored)
    warn("an earlier edit arrived late and replaced the text of a living comment; it was written again", {
      ...context,
      comment: restored.url,
    });
  const urls = (comments: readonly PostedComment[]) => comments.map(({ url }) => url);
  if (removed.length > 0)
    warn("a living comment was posted late a second time; the copy was removed", { ...context, duplicates: urls(removed) });
  if (left.length > 0)
    warn("a living comment was posted late a second time, and the platform cannot remove the copy: remove it by hand", {
      ...context,
      duplicates: urls(left),
    });
}
