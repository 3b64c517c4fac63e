import type { Queryable } from "../platform/database/client.ts";
import { findNamed } from "../subject-names/queries.ts";
import { needsName } from "./command.ts";
import { commandIn } from "./command-decision.ts";
import { type DecisionDeps, mayCloseOrStart } from "./decide.ts";
import type { IncomingEvent } from "./incoming-event.ts";

interface Deps extends Pick<DecisionDeps, "routing"> {
  /** Whether comments may contain commands. */
  readonly hasCommands: boolean;
}

/**
 * The event with the project and the name of its issue, if its payload contains only the id of the issue and an earlier execution of
 * the same webhook knows them. So it counts as an event of the issue that is already known: for order, closes, commands, loops and
 * policies. An event that does nothing is not looked up.
 */
export async function withProject<E extends IncomingEvent>(sql: Queryable, incoming: E, deps: Deps): Promise<E> {
  const { source, slug, event } = incoming;
  if (!event.subject || !needsName(event.subject)) return incoming;
  const { discarded, command } = commandIn(incoming, deps.hasCommands);
  if (discarded !== null || (command === null && !mayCloseOrStart(incoming, deps))) return incoming;
  const mayBeOld = command === null && !event.closes;
  const subject = await findNamed(sql, { source, slug }, event.subject, mayBeOld);
  return subject ? { ...incoming, event: { ...event, subject } } : incoming;
}
