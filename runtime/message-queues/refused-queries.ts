import type { RefusedMessage } from "@signalbox/sdk";
import type { Fragment, Queryable, Sql } from "../platform/database/client.ts";
import { shortText } from "../platform/json.ts";
import { ackMessages, executionId, keptDays, type MessageRow, messageRows, withResult } from "./queries.ts";

/** Wait before the second try, seconds. Each further wait is twice as long, up to the longest. */
const firstWaitSeconds = 30;
const longestWaitSeconds = 900;

/** The messages that a queue refused and that are tried again. */
export interface RefusedSummary {
  readonly queue: string;
  readonly count: number;
  /** Why the last one was refused. */
  readonly reason: string;
  readonly next_try_at: string;
}

const waitAfter = (sql: Queryable, refusals: Fragment) =>
  sql`make_interval(secs => least(${longestWaitSeconds}, ${firstWaitSeconds} * 2 ^ least(${refusals} - 1, 20)))`;

/**
 * Removes messages from the order of their queue. They are published again from here, so the position of the queue can pass them.
 * Returns whether the queue had none before.
 */
export const setAside = (
  sql: Sql,
  queue: string,
  messages: readonly Pick<MessageRow, "id" | "time">[],
  refused: readonly RefusedMessage[],
): Promise<boolean> =>
  sql.begin(async (tx) => {
    const before = await tx`select from refused_messages where queue = ${queue} limit 1`;
    const times = new Map(messages.map(({ id, time }) => [id, time]));
    const rows = refused.map(({ id, reason }) => ({ id, reason: shortText(reason), time: times.get(id) }));
    await tx`
      insert into refused_messages (queue, message_id, happened_at, reason, next_try_at)
      select ${queue}, m.id, m.time, m.reason, now() + make_interval(secs => ${firstWaitSeconds})
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as m (id text, time timestamptz, reason text)
      on conflict (queue, message_id) do nothing`;
    await ackMessages(
      tx,
      queue,
      refused.map(({ id }) => id),
    );
    return before.length === 0;
  }) as Promise<boolean>;

/** Leases messages whose next try is due, oldest first. */
export const takeRefused = (sql: Sql, queue: string, limit: number, leaseSeconds: number): Promise<MessageRow[]> =>
  sql.begin(async (tx) => {
    const due = await tx<{ message_id: string }[]>`
      update refused_messages set next_try_at = now() + make_interval(secs => ${leaseSeconds})
      where queue = ${queue} and message_id in (
        select message_id from refused_messages where queue = ${queue} and next_try_at <= now()
        order by happened_at, message_id limit ${limit} for update skip locked)
      returning message_id`;
    if (due.length === 0) return [];
    const ids = due.map(({ message_id }) => message_id);
    const rowIds = [...new Set(ids.map((id) => id.split(".", 1)[0] as string))];
    const execution = tx`x.id = any(${rowIds}::uuid[]) and ${executionId(tx)} = any(${ids})`;
    const { received, finished, paused } = messageRows;
    const rows = await tx<MessageRow[]>`
      select * from (
        ${received(tx, tx`e.id = any(${rowIds}::uuid[]) and e.id::text = any(${ids})`)}
        union all ${finished(tx, execution)} union all ${paused(tx, execution)}
      ) m order by time, id`;
    // For example, an execution that was restarted or continues: its message has disappeared.
    const found = new Set(rows.map(({ id }) => id));
    await forgetRefused(
      tx,
      queue,
      ids.filter((id) => !found.has(id)),
    );
    return rows.map(withResult);
  }) as Promise<MessageRow[]>;

export async function forgetRefused(sql: Queryable, queue: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql`delete from refused_messages where queue = ${queue} and message_id = any(${ids as string[]})`;
}

export async function refusedAgain(sql: Queryable, queue: string, refused: readonly RefusedMessage[]): Promise<void> {
  const rows = refused.map(({ id, reason }) => ({ id, reason: shortText(reason) }));
  await sql`
    update refused_messages r set reason = m.reason, refusals = r.refusals + 1,
      next_try_at = now() + ${waitAfter(sql, sql`r.refusals + 1`)}
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as m (id text, reason text) where r.queue = ${queue} and r.message_id = m.id`;
}

/** Returns how many messages of each queue are too old to be tried again. */
export const expireRefused = (sql: Queryable): Promise<{ queue: string; count: number }[]> => sql`
  with expired as (
    delete from refused_messages where happened_at < now() - make_interval(days => ${keptDays}) returning queue
  ) select queue, count(*)::integer as count from expired group by queue order by queue`;

export const refusedSummaries = (sql: Queryable): Promise<RefusedSummary[]> => sql`
  select queue, count(*)::integer as count, min(next_try_at) as next_try_at,
    (array_agg(reason order by happened_at desc, message_id desc))[1] as reason
  from refused_messages group by queue order by queue`;
