import type { EventAuthor } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { NewEvent } from "./arrival.ts";
import {
  alreadyCarriedOut,
  type Command,
  commandPlace,
  commandRefusal,
  type Effect,
  pendingReason,
  type RunCommand,
} from "./command.ts";
import { endPending, findCarriedOut, setEffect, setReason } from "./ending-queries.ts";

interface LateCommand {
  readonly command: Command;
  /** The stored event of the command. */
  readonly event: NewEvent;
  /** The standing that the platform reported; `unknown` if it did not respond. */
  readonly standing: EventAuthor["standing"];
  readonly carryOut: RunCommand;
}

/**
 * Executes a command that waited for the standing of its author, or refuses it, in one transaction. Returns its effect; `null` if
 * it was refused.
 */
export function decideLate(sql: Sql, { command, event, standing, carryOut }: LateCommand): Promise<Effect | null> {
  const { id, author } = event;
  const pending = pendingReason(command, author);
  return sql.begin(async (tx) => {
    if (pending === null || !author || !(await endPending(tx, id, pending, standing))) return null;
    const earlier = await findCarriedOut(tx, event);
    const refusal = earlier ? alreadyCarriedOut(command, earlier) : commandRefusal(command, { ...author, standing });
    if (refusal !== null) {
      await setReason(tx, id, refusal);
      return null;
    }
    const effect = await carryOut(tx, command, commandPlace(event));
    await setEffect(tx, id, effect);
    return effect;
  });
}
