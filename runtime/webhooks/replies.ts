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

interface ReplyDeps {
  readonly standings: Standings;
  readonly log: Pick<Log, "warn">;
  /** Whether anything is written to trackers. */
  readonly trackerUpdates: boolean;
}

/** The calls to the tracker that the dispatch of an event may make. */
export function repliesTo(
  event: SourceEvent,
  connection: Connection,
  { standings, log, trackerUpdates }: ReplyDeps,
): Pick<IncomingEvent, "acknowledge" | "findStanding" | "findName"> {
  const { author, subject, comment = null } = event;
  const { adapter } = connection.source;
  /** Adds a reaction. A failure is only logged. */
  const acknowledge = (isDone: boolean) => {
    if (!adapter.react || subject === null || !trackerUpdates || connection.missingSettings.length > 0) return;
    const call = { signal: AbortSignal.timeout(reactionMs), connection: connection.settings, key: newId() };
    const failed = (error: unknown) => log.warn("failed to acknowledge a command", { subject, error });
    adapter.react({ subject, comment }, isDone ? "done" : "failed", call).catch(failed);
  };
  const findName = async (): Promise<Subject | null> => {
    const call = { signal: AbortSignal.timeout(lookUpMs), connection: connection.settings, key: newId() };
    try {
      return (subject && (await adapter.describe?.({ subject, text: "" }, call))?.subject) ?? subject;
    } catch (error) {
      log.warn("failed to look up an issue", { subject, error });
      return null;
    }
  };
  const hasName = adapter.describe && connection.missingSettings.length === 0 && needsName(subject);
  const hasStanding = adapter.standing && author && subject;
  return {
    acknowledge,
    ...(hasStanding && { findStanding: (project) => standings.find(connection, project, author) }),
    ...(hasName && { findName }),
  };
}
