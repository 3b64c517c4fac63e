import type { Queryable } from "../platform/database/client.ts";
import { findNamed } from "../subject-names/queries.ts";
import { needsName } from "./command.ts";
import type { IncomingEvent } from "./incoming-event.ts";

/**
 * The event with the project of its issue, if its payload contains only the id of the issue and an earlier execution knows the
 * project. So it counts as an event of the issue that is already known: for order, closes, commands, loops and policies.
 */
export async function withProject<E extends Pick<IncomingEvent, "source" | "event">>(sql: Queryable, incoming: E): Promise<E> {
  const { source, event } = incoming;
  const subject = event.subject && needsName(event.subject) ? await findNamed(sql, source, event.subject) : null;
  return subject ? { ...incoming, event: { ...event, subject } } : incoming;
}
