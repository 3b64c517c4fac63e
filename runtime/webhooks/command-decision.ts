import {
  type Command,
  commandOf,
  commandRefusal,
  needsName,
  needsStanding,
  waitingForName,
  waitingForStanding,
} from "./command.ts";
import { reasonToDiscard } from "./decide.ts";
import type { IncomingEvent } from "./incoming-event.ts";

interface CommandDecision {
  /** Why the event is discarded; it then has no command. */
  readonly discarded: string | null;
  readonly command: Command | null;
  /** Why the command is not carried out now. */
  readonly refusal: string | null;
  /** Whether it waits for the standing of its author or the name of its issue. `refusal` says for which. */
  readonly waits: boolean;
  /** Whether it is carried out now, and once more under the name of its issue, because its event names the issue by an id only. */
  readonly isById: boolean;
}

/** Whether an event gives a command, and what happens to the command now. */
export function commandIn(incoming: IncomingEvent, hasCommands: boolean): CommandDecision {
  const { event, origin, canFindStanding = false, canFindName = false } = incoming;
  const discarded = reasonToDiscard(incoming);
  const command = hasCommands && discarded === null && origin.kind !== "replay" ? commandOf(event) : null;
  const decided = { discarded, command, refusal: null, waits: false, isById: false };
  if (command === null) return decided;
  const waitsForStanding = canFindStanding && needsStanding(command, event.author);
  const refusal = waitsForStanding ? null : commandRefusal(command, event.author);
  if (refusal !== null) return { ...decided, refusal };
  const isUnnamed = canFindName && needsName(event.subject);
  if (isUnnamed && command.name === "stop") return { ...decided, isById: true };
  if (isUnnamed) return { ...decided, refusal: waitingForName(command), waits: true };
  if (waitsForStanding) return { ...decided, refusal: waitingForStanding(command, event.author), waits: true };
  return decided;
}
