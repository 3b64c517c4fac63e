import { joinedText, plainLine, rememberLatest, type SubjectDetails } from "@signalbox/sdk";
import { withDeadline } from "../platform/abortable.ts";
import type { Log } from "../platform/log.ts";
import { retryRemote } from "../platform/remote-calls.ts";
import type { Connection } from "../plugins/connections.ts";
import type { ClaimedExecution } from "./queries.ts";

/** Maximum wait for a tracker to describe a subject, in milliseconds. After that, the run continues without the description. */
const maxWaitMs = 5_000;
/** The same for a try of a look-up without which the run cannot continue. */
export const findMs = 30_000;
/** Pause after a failed look-up, so that simultaneous runs do not wait for the tracker one after another. */
const backoffMs = 30_000;
const maxEntries = 500;

/** Looks up facts about an issue that the payload of its event does not contain: title, state, labels, author, URL. */
export interface Descriptions {
  /** `null`: the source has no look-up, or the tracker did not answer. Never rejects. */
  of(execution: ClaimedExecution, connection: Connection | null): Promise<SubjectDetails | null>;
  /** The same, but waits longer, tries three times, and throws a `Failure` if the tracker does not answer. */
  find(execution: ClaimedExecution, connection: Connection, signal: AbortSignal): Promise<SubjectDetails | null>;
}

/** One look-up for all tasks of an event. The source throttles its requests. */
export function createDescriptions(log: Log): Descriptions {
  // The tasks of an event run at about the same time.
  const known = rememberLatest<Promise<SubjectDetails | null>>(maxEntries);
  const backoffUntil = new Map<string, number>();
  const describe = async (execution: ClaimedExecution, { source, settings }: Connection, signal: AbortSignal) => {
    const { project, issue, parts } = execution;
    if (project === null || issue === null) return null;
    const call = { signal, connection: settings, key: `${execution.id}.describe` };
    return (await source.adapter.describe?.({ subject: { project, issue }, text: joinedText(parts) }, call)) ?? null;
  };
  const ask = async (execution: ClaimedExecution, connection: Connection): Promise<SubjectDetails | null> => {
    const { id, source } = connection;
    if ((backoffUntil.get(id) ?? 0) > Date.now()) return null;
    try {
      return await describe(execution, connection, AbortSignal.timeout(maxWaitMs));
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code !== "not_found" && code !== "invalid_input") backoffUntil.set(id, Date.now() + backoffMs);
      log.warn("failed to look up an issue", { source: source.name, subject: execution.subject, error: String(error) });
      return null;
    }
  };
  const canAsk = ({ place }: ClaimedExecution, { source, missingSettings }: Connection) =>
    place?.incomplete && source.adapter.describe !== undefined && missingSettings.length === 0;
  return {
    of: async (execution, connection) => {
      if (!connection || !canAsk(execution, connection)) return null;
      return known(`${connection.id} ${execution.event_id}`, () => ask(execution, connection));
    },
    find: async (execution, connection, signal) => {
      if (!canAsk(execution, connection)) return null;
      const inTime = () => withDeadline(signal, findMs, (limited) => describe(execution, connection, limited));
      return retryRemote(inTime, signal);
    },
  };
}

const line = (text: string): string => plainLine(text).trim().slice(0, 1_000).toWellFormed();

/** The looked-up facts as text: untrusted data, like the event itself. `null`: none. */
export function detailsText(details: SubjectDetails | null): string | null {
  if (details === null) return null;
  const { title, state, labels, author, url } = details;
  const facts: readonly (readonly [string, string | null])[] = [
    ["Title", title],
    ["State", state],
    ["Labels", labels.slice(0, 100).map(line).join(", ") || null],
    ["Author", author],
    ["Link", url],
  ];
  const lines = facts.flatMap(([name, value]) => (value?.trim() ? `- ${name}: ${line(value)}` : []));
  return lines.length > 0 ? `## The issue now\n\n${lines.join("\n")}` : null;
}

/** The text with names in place of ids, such as those of states and labels, which mean nothing to a reader. */
export const withNames = (content: string, names: Readonly<Record<string, string>>): string =>
  Object.entries(names)
    .filter(([id, name]) => id.length >= 8 && name.trim() !== "")
    .slice(0, 500)
    .reduce((text, [id, name]) => text.replaceAll(id, () => line(name)), content);
