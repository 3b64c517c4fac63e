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
  unknownIssue,
} from "./command.ts";
import { endPending, findCarriedOut, setEffect, setReason } from "./ending-queries.ts";
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

/**
 * Executes a command that waited for the name of its issue or the standing of its author, or refuses it, in one transaction. Returns
 * its effect; `null` if it was refused.
 */
export function decideLate(sql: Sql, { command, event, found, carryOut }: LateCommand): Promise<Effect | null> {
  const { id, author } = event;
  const subject = found.subject && storableText(subjectKey(event.source, found.subject));
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
