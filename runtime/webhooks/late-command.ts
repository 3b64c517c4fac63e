import type { EventAuthor, Subject } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { storableText } from "../platform/json.ts";
import type { Connection } from "../plugins/connections.ts";
import { subjectKey, subjectParts } from "../subject-names/subject-key.ts";
import {
  alreadyCarriedOut,
  commandPlace,
  commandRefusal,
  type Effect,
  needsStanding,
  notCarriedOut,
  type RunCommand,
  stoppedById,
  stoppedByIdOnly,
} from "./command.ts";
import { endPending, findCarriedOut, nameEvent, setEffect, setReason } from "./ending-queries.ts";
import { type PendingCommand, takePending } from "./pending-queries.ts";
import { findName, type ReplyDeps } from "./replies.ts";

/** What a platform reported about a command. */
interface LookedUp {
  /** Its issue; `null` if the platform did not tell. */
  readonly subject: Subject | null;
  /** `unknown` if the platform did not tell, or if it does not matter. */
  readonly standing: EventAuthor["standing"];
}

/** Asks the platform for what a command waits for: the name of its issue, then the standing of its author. */
export async function lookUp(
  { command, event }: PendingCommand,
  connection: Connection,
  { standings, log }: Pick<ReplyDeps, "standings" | "log">,
): Promise<LookedUp> {
  const { author } = event;
  const subject = await findName(subjectParts(event.subject), connection, log);
  if (subject === null || !author || !needsStanding(command, author)) return { subject, standing: author?.standing ?? "unknown" };
  return { subject, standing: await standings.find(connection, subject.project, author) };
}

const storedKey = (source: string, subject: Subject): string => storableText(subjectKey(source, subject));

/**
 * Executes a command that waited for the name of its issue or the standing of its author, or refuses it, in one transaction. Returns
 * its effect; `null` if it was refused, or if another replica has taken it over.
 */
export function decideLate(sql: Sql, pending: PendingCommand, found: LookedUp, carryOut: RunCommand): Promise<Effect | null> {
  const { command, event } = pending;
  const { id, author, source } = event;
  const named = { ...event, subject: found.subject ? storedKey(source, found.subject) : event.subject };
  return sql.begin(async (tx) => {
    if (!(await takePending(tx, pending)) || event.reason === null) return null;
    if (!(await endPending(tx, named, event.reason, found.standing))) return null;
    const earlier = await findCarriedOut(tx, named);
    const refused = commandRefusal(command, author && { ...author, standing: found.standing });
    const unknown = found.subject ? null : notCarriedOut(command, "its issue could not be looked up");
    const refusal = earlier ? alreadyCarriedOut(command, earlier) : (unknown ?? refused);
    if (refusal !== null) {
      await setReason(tx, id, refusal);
      return null;
    }
    const alias = named.subject === event.subject ? null : event.subject;
    const effect = await carryOut(tx, command, commandPlace(named, command, alias));
    await setEffect(tx, id, effect);
    return effect;
  });
}

/**
 * Carries out a `/stop` again, under the name of its issue, after it was carried out under the id. `subject`: its issue; `null` if the
 * platform did not tell. Returns the effect of this time; `null` if its event has changed meanwhile.
 */
export function stopByName(
  sql: Sql,
  pending: PendingCommand & { readonly first: Effect },
  subject: Subject | null,
  carryOut: RunCommand,
): Promise<Effect | null> {
  const { event, command, first } = pending;
  const { id, source } = event;
  const named = { ...event, subject: subject ? storedKey(source, subject) : event.subject };
  return sql.begin(async (tx) => {
    if (!(await takePending(tx, pending))) return null;
    if (!(await nameEvent(tx, named, stoppedById(first).summary))) return null;
    const noMore = { ...first, cancelled: [] };
    if (subject === null) {
      await setReason(tx, id, stoppedByIdOnly(first));
      return { ...noMore, isDone: false };
    }
    if (named.subject === event.subject || (await findCarriedOut(tx, named)) !== undefined) {
      await setReason(tx, id, first.summary);
      return noMore;
    }
    const effect = await carryOut(tx, command, commandPlace(named, command));
    const more = effect.cancelled.length;
    const both = more === 0 ? first.summary : `${first.summary}, and ${more} more once its issue was looked up`;
    await setReason(tx, id, first.cancelled.length === 0 ? effect.summary : both);
    return effect;
  });
}
