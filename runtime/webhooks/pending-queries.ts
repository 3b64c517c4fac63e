import type { Queryable, Sql } from "../platform/database/client.ts";
import { storableText } from "../platform/json.ts";
import { dueRow, leaseFor } from "../platform/lease-queries.ts";
import type { Command, CommandEvent, Effect } from "./command.ts";

/** A command that waits for what is looked up at its platform, leased by this replica. */
export interface PendingCommand {
  readonly event_id: string;
  readonly lease: string;
  /** How often it was claimed. */
  readonly attempts: number;
  readonly command: Command;
  /** What `/stop` did under the id of its issue; `null` if nothing was carried out yet. */
  readonly first: Effect | null;
  readonly event: CommandEvent & { readonly subject: string };
}

export const pendingRows = {
  table: "pending_commands",
  key: "event_id",
  dueColumn: "due_at",
  // The commands on one issue are carried out in the order of their events.
  condition:
    "not exists (select from pending_commands o where o.subject = pending_commands.subject and o.event_id < pending_commands.event_id)",
} as const;

/** Stores that the command of an event waits, in the transaction that stores the event. `first`: what it did already. */
export async function insertPending(
  tx: Queryable,
  { id, subject }: Pick<CommandEvent, "id" | "subject">,
  { name, rest }: Command,
  first: Effect | null,
): Promise<void> {
  await tx`
    insert into pending_commands (event_id, subject, name, rest, first_effect)
    values (${id}, ${subject}, ${name}, ${storableText(rest)}, ${first && JSON.stringify(first)}::text::jsonb)`;
}

/** Claims the command that has been due for the longest time. */
export async function claimPending(sql: Sql, lease: string, leaseSeconds: number): Promise<PendingCommand | undefined> {
  const [row] = await sql<
    (Omit<PendingCommand, "command" | "event"> & Command & Omit<CommandEvent, "id"> & { readonly subject: string })[]
  >`
    with ${dueRow(sql, pendingRows)}
    update pending_commands p set ${leaseFor(sql, lease, leaseSeconds)}, attempts = p.attempts + 1
    from due join webhook_events e on e.id = due.event_id
    where p.event_id = due.event_id
    returning p.event_id, p.lease, p.attempts, p.name, p.rest, p.first_effect as first,
      e.source, e.slug, e.subject, e.actor, e.author, e.comment, e.reason, e.polled, e.occurred_at, e.received_at`;
  if (!row) return undefined;
  const { event_id, lease: own, attempts, name, rest, first, ...event } = row;
  return { event_id, lease: own, attempts, command: { name, rest }, first, event: { id: event_id, ...event } };
}

/** Ends the wait. Returns `false` if another replica has the lease, or if the event was deleted. */
export async function takePending(tx: Queryable, { event_id, lease }: PendingCommand): Promise<boolean> {
  const { count } = await tx`delete from pending_commands where event_id = ${event_id} and lease = ${lease}`;
  return count > 0;
}
