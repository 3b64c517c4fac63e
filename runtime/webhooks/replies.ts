import type { SourceEvent, Subject } from "@signalbox/sdk";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import { needsName } from "./command.ts";
import type { IncomingEvent } from "./incoming-event.ts";

/** Timeouts of a reaction, and of the look-up of an issue. */
const reactionMs = 30_000;
const lookUpMs = 30_000;

export interface ReplyDeps {
  readonly standings: Standings;
  readonly log: Pick<Log, "warn">;
  /** Whether anything is written to trackers. */
  readonly trackerUpdates: boolean;
}

type Replies = Pick<IncomingEvent, "acknowledge" | "canFindStanding" | "canFindName">;

/** What the tracker of an event can be asked, and how a command is acknowledged there. */
export function repliesTo(
  { author, subject, comment = null }: Pick<SourceEvent, "author" | "subject" | "comment">,
  connection: Connection,
  { log, trackerUpdates }: Pick<ReplyDeps, "log" | "trackerUpdates">,
): Replies {
  const { adapter } = connection.source;
  /** Adds a reaction. A failure is only logged. */
  const acknowledge = async (isDone: boolean) => {
    if (!adapter.react || subject === null || !trackerUpdates || connection.missingSettings.length > 0) return;
    const call = { signal: AbortSignal.timeout(reactionMs), connection: connection.settings, key: newId() };
    try {
      await adapter.react({ subject, comment }, isDone ? "done" : "failed", call);
    } catch (error) {
      log.warn("failed to acknowledge a command", { subject, error });
    }
  };
  return {
    acknowledge: (isDone) => void acknowledge(isDone),
    ...(adapter.standing && author && subject && { canFindStanding: true }),
    ...(canFindName(subject, connection) && { canFindName: true }),
  };
}

const canFindName = (subject: Subject | null, { source, missingSettings }: Connection): boolean =>
  source.adapter.describe !== undefined && missingSettings.length === 0 && needsName(subject);

/**
 * Requests the project and key of an issue from the platform, if it is named by an id only. Returns the subject itself if the platform
 * knows no other name, `null` if it did not tell or cannot be asked.
 */
export async function findName(subject: Subject, connection: Connection, log: ReplyDeps["log"]): Promise<Subject | null> {
  if (!needsName(subject)) return subject;
  if (!canFindName(subject, connection)) return null;
  const call = { signal: AbortSignal.timeout(lookUpMs), connection: connection.settings, key: newId() };
  try {
    return (await connection.source.adapter.describe?.({ subject, text: "" }, call))?.subject ?? subject;
  } catch (error) {
    log.warn("failed to look up an issue", { subject, error });
    return null;
  }
}
