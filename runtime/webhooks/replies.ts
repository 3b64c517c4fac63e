import type { SourceEvent } from "@signalbox/sdk";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import type { IncomingEvent } from "./incoming-event.ts";

/** Timeout of a reaction. */
const reactionMs = 30_000;

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
): Pick<IncomingEvent, "acknowledge" | "findStanding"> {
  const { author, subject, comment = null } = event;
  const { adapter } = connection.source;
  /** Adds a reaction. A failure is only logged. */
  const acknowledge = (isDone: boolean) => {
    if (!adapter.react || subject === null || !trackerUpdates || connection.missingSettings.length > 0) return;
    const call = { signal: AbortSignal.timeout(reactionMs), connection: connection.settings, key: newId() };
    const failed = (error: unknown) => log.warn("failed to acknowledge a command", { subject, error });
    adapter.react({ subject, comment }, isDone ? "done" : "failed", call).catch(failed);
  };
  if (!author || !subject || !adapter.standing) return { acknowledge };
  return { acknowledge, findStanding: () => standings.find(connection, subject.project, author) };
}
