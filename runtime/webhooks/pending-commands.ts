import { abortable } from "../platform/abortable.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import { postponeRow } from "../platform/lease-queries.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log } from "../platform/log.ts";
import type { Loop } from "../platform/loop.ts";
import type { Connections } from "../plugins/connections.ts";
import { subjectParts } from "../subject-names/subject-key.ts";
import { type Effect, notCarriedOut, type RunCommand, stoppedByIdOnly } from "./command.ts";
import { setReason } from "./ending-queries.ts";
import { decideLate, lookUp, stopByName } from "./late-command.ts";
import { claimPending, type PendingCommand, pendingRows, takePending } from "./pending-queries.ts";
import { findName, type ReplyDeps, repliesTo } from "./replies.ts";

interface PendingCommandsOptions extends ReplyDeps {
  readonly sql: Sql;
  readonly log: Log;
  readonly connectionBySlug: Connections["bySlug"];
  /** `null`: comments contain no commands. */
  readonly carryOut: RunCommand | null;
  /** Called after a command was carried out. */
  readonly carriedOut: (effect: Effect, acknowledge: (isDone: boolean) => void) => void;
  readonly leaseSeconds: number;
}

/** Look-ups that one replica makes at the same time. They only wait for the platform, which may take 30 s. */
const concurrency = 64;
/** Maximum lease, in seconds. It is renewed meanwhile, and decides when another replica continues. */
const maxLeaseSeconds = 10;
/** A command that cannot be decided is tried again after 5, 10, 15, 20 and 25 s. Meanwhile, later ones on its issue wait. */
const retryMs = 5_000;
const maxAttempts = 6;

/**
 * Carries out the commands that wait for the standing of their author or the name of their issue, after their webhooks were answered. If
 * the replica that looks them up dies, another one continues.
 */
export function startPendingCommands(options: PendingCommandsOptions): Loop {
  const { sql, log } = options;
  return startLeasedWork({
    name: "a command that waits",
    sql,
    rows: pendingRows,
    concurrency,
    leaseSeconds: Math.min(options.leaseSeconds, maxLeaseSeconds),
    log,
    claim: claimPending,
    handle: (pending, signal) => decide(pending, signal, options),
  });
}

/** Never throws. */
async function decide(pending: PendingCommand, signal: AbortSignal, options: PendingCommandsOptions): Promise<void> {
  const { sql, log } = options;
  const { event_id, attempts } = pending;
  try {
    await carryOutLate(pending, signal, options);
  } catch (error) {
    if (!signal.aborted) log.warn("failed to run a command", { event_id, error });
    await (attempts < maxAttempts || signal.aborted
      ? postponeRow(sql, pendingRows, pending, signal.aborted ? 0 : attempts * retryMs)
      : abandon(sql, pending, messageOf(error))
    ).catch((second) => log.warn("failed to postpone a command", { event_id, error: second }));
  }
}

async function carryOutLate(pending: PendingCommand, signal: AbortSignal, options: PendingCommandsOptions): Promise<void> {
  const { sql, log, connectionBySlug, carryOut, carriedOut } = options;
  const { event, first } = pending;
  if (!carryOut) return abandon(sql, pending, "COMMANDS_ENABLED was false when it was due");
  const connection = await connectionBySlug(event.slug);
  // The plugin of its source may still be starting.
  if (!connection) throw new Error(`there is no webhook "${event.slug}"`);
  const subject = subjectParts(event.subject);
  const byName = async () => {
    const named = await abortable(findName(subject, connection, log), signal);
    return first && stopByName(sql, { ...pending, first }, named, carryOut);
  };
  const decided = async () => decideLate(sql, pending, await abortable(lookUp(pending, connection, options), signal), carryOut);
  const effect = await (first ? byName() : decided());
  const { acknowledge } = repliesTo({ ...event, subject }, connection, options);
  if (effect && acknowledge) carriedOut(effect, acknowledge);
}

/** Ends the wait of a command that is not carried out, and says why. */
function abandon(sql: Sql, pending: PendingCommand, reason: string): Promise<void> {
  const { event, command, first } = pending;
  const outcome = first ? stoppedByIdOnly(first, reason) : notCarriedOut(command, reason);
  return sql.begin(async (tx) => {
    if (await takePending(tx, pending)) await setReason(tx, event.id, outcome);
  }) as Promise<void>;
}
