import type { EventAuthor, Subject } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { storableText } from "../platform/json.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import type { NewEvent } from "./arrival.ts";
import {
  alreadyCarriedOut,
  type Command,
  commandPlace,
  commandRefusal,
  type Effect,
  needsName,
  needsStanding,
  type RunCommand,
  stoppedById,
  stoppedByIdOnly,
  unknownIssue,
} from "./command.ts";
import { endPending, findCarriedOut, nameEvent, setEffect, setReason } from "./ending-queries.ts";
import type { IncomingEvent } from "./incoming-event.ts";

interface LateCommand {
  readonly command: Command;
  /** The stored event of the command. */
  readonly event: NewEvent;
  readonly found: LookedUp;
  readonly carryOut: RunCommand;
}

/** What a platform reported about a command. */
interface LookedUp {
  /** Its issue; `null` if the platform did not tell. */
  readonly subject: Subject | null;
  /** `unknown` if the platform did not tell, or if it does not matter. */
  readonly standing: EventAuthor["standing"];
}

/** Asks the platform for what a command waits for: the name of its issue, then the standing of its author. */
export async function lookUp({ event, findName, findStanding }: IncomingEvent, command: Command): Promise<LookedUp> {
  const subject = needsName(event.subject) && findName ? await findName() : event.subject;
  const known = event.author?.standing ?? "unknown";
  if (subject === null || !findStanding || !needsStanding(command, event.author)) return { subject, standing: known };
  return { subject, standing: await findStanding(subject.project) };
}

const storedKey = ({ source }: NewEvent, subject: Subject): string => storableText(subjectKey(source, subject));

/**
 * Executes a command that waited for the name of its issue or the standing of its author, or refuses it, in one transaction. Returns
 * its effect; `null` if it was refused.
 */
export function decideLate(sql: Sql, { command, event, found, carryOut }: LateCommand): Promise<Effect | null> {
  const { id, author } = event;
  const subject = found.subject && storedKey(event, found.subject);
  const named = { ...event, subject: subject ?? event.subject };
  return sql.begin(async (tx) => {
    if (event.reason === null || !(await endPending(tx, named, event.reason, found.standing))) return null;
    const earlier = await findCarriedOut(tx, named);
    const refused = commandRefusal(command, author && { ...author, standing: found.standing });
    const refusal = earlier ? alreadyCarriedOut(command, earlier) : subject === null ? unknownIssue(command) : refused;
    if (refusal !== null) {
      await setReason(tx, id, refusal);
      return null;
    }
    const alias = named.subject === event.subject ? null : event.subject;
    const effect = await carryOut(tx, command, commandPlace(named, alias));
    await setEffect(tx, id, effect);
    return effect;
  });
}

interface LateStop extends Pick<LateCommand, "event" | "carryOut"> {
  /** Its issue; `null` if the platform did not tell. */
  readonly subject: Subject | null;
  /** What it did under the id of its issue. */
  readonly first: Effect;
}

/**
 * Carries out a `/stop` again, under the name of its issue, after it was carried out under the id. Returns the effect of this time;
 * `null` if its event has changed meanwhile.
 */
export function stopByName(sql: Sql, { event, subject, first, carryOut }: LateStop): Promise<Effect | null> {
  const { id } = event;
  const named = { ...event, subject: subject ? storedKey(event, subject) : event.subject };
  return sql.begin(async (tx) => {
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
    const effect = await carryOut(tx, { name: "stop", rest: "" }, commandPlace(named));
    const more = effect.cancelled.length;
    const both = more === 0 ? first.summary : `${first.summary}, and ${more} more once its issue was looked up`;
    await setReason(tx, id, first.cancelled.length === 0 ? effect.summary : both);
    return effect;
  });
}
