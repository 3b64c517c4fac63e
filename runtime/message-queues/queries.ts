import { firstLockKeys } from "../platform/database/advisory-lock.ts";
import type { Fragment, Queryable, Sql } from "../platform/database/client.ts";
import { shownResult } from "../transcripts/stored-steps.ts";
import { resultOf } from "../transcripts/text-queries.ts";

export type MessageKind = "received" | "succeeded" | "failed" | "cancelled" | "waiting" | "held";

/** A message as a row, before its conversion to a CloudEvent. */
export interface MessageRow {
  readonly id: string;
  /** `received`, or the state of an execution that ended, waits for approval or is held. */
  readonly kind: MessageKind;
  readonly time: string;
  readonly source: string;
  readonly slug: string;
  readonly subject: string | null;
  readonly data: Record<string, unknown>;
}

/** Retention of untaken messages, days. */
export const keptDays = 7;
/** Rows become visible slightly after their timestamps; this is the maximum delay. */
const visibilitySeconds = 60;

/** Start of the scan. */
const startOf = (sql: Queryable, queue: string) =>
  sql`(select greatest(max(position), now() - make_interval(days => ${keptDays})) from queue_positions where queue = ${queue})`;
/** Events since the start. Their ids begin with the time in milliseconds, so the primary key finds the first. */
const eventsSince = (sql: Queryable, start: Fragment) => sql`e.received_at >= ${start}
  and e.id >= (lpad(to_hex((extract(epoch from ${start} - make_interval(secs => ${visibilitySeconds})) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
const executionsSince = (sql: Queryable, start: Fragment) =>
  sql`x.finished_at >= ${start} and x.state in ('succeeded', 'failed', 'cancelled')`;
/** A restarted execution ends again, which is another message. */
export const executionId = (sql: Queryable) => sql`(x.id || '.' || x.attempts || '.' || x.state)`;

const resultParts = (sql: Queryable) => {
  const { result, packed_result, answer_output, packed_answer } = resultOf(sql, "x");
  return sql`'result', ${result}, 'packed_result', encode(${packed_result}, 'base64'), 'answer_output', ${answer_output},
    'packed_answer', encode(${packed_answer}, 'base64')`;
};

const executionData = (
  sql: Queryable,
) => sql`json_build_object('execution_id', x.id, 'task_id', x.task_id, 'event_id', x.event_id,
  'agent_id', x.agent_id, 'project_id', x.project_id, 'source', x.source, 'canonical_trigger', x.canonical_trigger, 'subject', x.subject,
  'state', x.state, 'attempts', x.attempts, ${resultParts(sql)}, 'result_url', x.result_url, 'error', x.error,
  'prompt_tokens', x.prompt_tokens, 'completion_tokens', x.completion_tokens, 'tool_calls', x.tool_calls,
  'private', coalesce((select e.private from webhook_events e where e.id = x.event_id), false))`;
/** When an execution began to wait or to be held. */
const pausedAt = (sql: Queryable) => sql`coalesce(case x.state
  when 'held' then (select max(h.created_at) from execution_history h where h.execution_id = x.id and h.event = 'execution.held')
  else (select max(s.created_at) from execution_steps s where s.execution_id = x.id) end, x.created_at)`;

/** The rows of events and executions as messages, each where its condition holds. */
export const messageRows = {
  received: (sql: Queryable, where: Fragment) => sql`
    select e.id::text as id, 'received' as kind, e.received_at as time, e.source, e.slug, e.subject,
      json_build_object('event_id', e.id, 'source', e.source, 'slug', e.slug, 'delivery_id', e.delivery_id, 'event_name', e.event_name,
        'action', e.action, 'actor', e.actor, 'subject', e.subject, 'canonical_triggers', e.canonical_triggers, 'outcome', e.outcome,
        'reason', e.reason, 'replay_of', e.replay_of, 'polled', e.polled, 'private', e.private) as data
    from webhook_events e where ${where}`,
  finished: (sql: Queryable, where: Fragment) => sql`
    select ${executionId(sql)} as id, x.state as kind, x.finished_at as time, x.source, x.slug, x.subject, ${executionData(sql)} as data
    from task_executions x where x.state in ('succeeded', 'failed', 'cancelled') and ${where}`,
  paused: (sql: Queryable, where: Fragment) => sql`
    select ${executionId(sql)} as id, x.state as kind, ${pausedAt(sql)} as time, x.source, x.slug, x.subject,
      (${executionData(sql)}::jsonb || jsonb_build_object('held_reason', x.held_reason, 'waiting_for', x.waiting_for))::json as data
    from task_executions x where x.state in ('waiting', 'held') and ${where}`,
};

/**
 * The messages that `queue` has not delivered, oldest first, without those of the kinds in `except`. They are the rows of events and
 * executions themselves, so storing an event needs no additional write, and a rolled-back row is never a message.
 */
const pendingOf = (sql: Queryable, queue: string, atMost: number | null, except: readonly MessageKind[] = []) => {
  const start = startOf(sql, queue);
  const open = (id: Fragment) => sql`not exists (
    select 1 from queue_takes t where t.queue = ${queue} and t.message_id = ${id} and (t.acked or t.lease_expires_at > now()))`;
  const wanted = (kind: Fragment) => (except.length === 0 ? sql`true` : sql`${kind} <> all(${except as MessageKind[]})`);
  const { received, finished, paused } = messageRows;
  return sql`
    (${received(sql, sql`${eventsSince(sql, start)} and ${open(sql`e.id::text`)} and ${wanted(sql`'received'`)}`)}
    order by e.id limit ${atMost})
    union all
    (${finished(sql, sql`x.finished_at >= ${start} and ${open(executionId(sql))} and ${wanted(sql`x.state`)}`)}
    order by x.finished_at, x.id limit ${atMost})
    union all
    (${paused(sql, sql`${open(executionId(sql))} and ${wanted(sql`x.state`)}`)}
    order by x.created_at, x.id limit ${atMost})`;
};

/** A message with the result of its execution, which may be packed. */
export function withResult(row: MessageRow): MessageRow {
  if (row.kind === "received") return row;
  const { packed_result, packed_answer, ...data } = row.data;
  const bytes = (value: unknown) => (typeof value === "string" ? Buffer.from(value, "base64") : null);
  return {
    ...row,
    data: { ...shownResult({ ...data, packed_result: bytes(packed_result), packed_answer: bytes(packed_answer) }) },
  };
}

export async function listPending(
  sql: Queryable,
  queue: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: MessageRow[]; total: number }> {
  const items = await sql<MessageRow[]>`
    select * from (${pendingOf(sql, queue, limit + offset)}) m order by time, id limit ${limit} offset ${offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from (${pendingOf(sql, queue, null)}) m`;
  return { items: items.map(withResult), total: count.total };
}

/** Leases the oldest pending messages to one consumer; consumers of one queue are serialised. `except`: kinds to leave. */
export const takeMessages = (
  sql: Sql,
  queue: string,
  limit: number,
  leaseSeconds: number,
  except: readonly MessageKind[] = [],
): Promise<MessageRow[]> =>
  sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${firstLockKeys.queue}, hashtext(${queue}))`;
    const rows = await tx<MessageRow[]>`
      with picked as materialized (
        select * from (${pendingOf(tx, queue, limit, except)}) m order by time, id limit ${limit}
      ), leased as (
        insert into queue_takes (queue, message_id, happened_at, lease_expires_at)
        select ${queue}, id, time, now() + make_interval(secs => ${leaseSeconds}) from picked
        on conflict (queue, message_id) do update set lease_expires_at = excluded.lease_expires_at
      )
      select * from picked order by time, id`;
    return rows.map(withResult);
  }) as Promise<MessageRow[]>;

/** Releases unacknowledged messages before their lease ends. */
export async function releaseMessages(sql: Queryable, queue: string, ids: readonly string[]): Promise<void> {
  await sql`
    update queue_takes set lease_expires_at = now() where queue = ${queue} and message_id = any(${ids as string[]}) and not acked`;
}

/** Returns how many of the messages were leased. */
export async function ackMessages(sql: Queryable, queue: string, ids: readonly string[]): Promise<number> {
  const result = await sql`
    update queue_takes set acked = true where queue = ${queue} and message_id = any(${ids as string[]})`;
  return result.count;
}

/**
 * Advances every queue's position to its oldest unacknowledged message and deletes the leases before it. Runs on one
 * replica at a time. The position never passes an open transaction, so no message is skipped.
 */
export const sweepQueues = (sql: Sql): Promise<number> =>
  sql.begin(async (tx) => {
    const [{ has_lock }] = await tx<
      [{ has_lock: boolean }]
    >`select pg_try_advisory_xact_lock(${firstLockKeys.queue}, 0) as has_lock`;
    if (!has_lock) return 0;
    await tx`insert into queue_positions (queue) select distinct queue from queue_takes on conflict do nothing`;
    const queues = await tx<{ queue: string }[]>`select queue from queue_positions order by queue`;
    let forgotten = 0;
    for (const { queue } of queues) forgotten += await sweepQueue(tx, queue);
    return forgotten;
  }) as Promise<number>;

async function sweepQueue(sql: Queryable, queue: string): Promise<number> {
  const start = startOf(sql, queue);
  const isAcknowledged = (id: Fragment) =>
    sql`exists (select 1 from queue_takes t where t.queue = ${queue} and t.message_id = ${id} and t.acked)`;
  await sql`
    update queue_positions set position = greatest(position, now() - make_interval(days => ${keptDays}), least(now(),
      (select e.received_at from webhook_events e where ${eventsSince(sql, start)} and not ${isAcknowledged(sql`e.id::text`)} order by e.id limit 1),
      (select x.finished_at from task_executions x where ${executionsSince(sql, start)} and not ${isAcknowledged(executionId(sql))}
        order by x.finished_at limit 1),
      (select min(xact_start) from pg_stat_activity where datname = current_database())) - make_interval(secs => ${visibilitySeconds}))
    where queue = ${queue}`;
  const result = await sql`
    delete from queue_takes t using queue_positions p
    where p.queue = ${queue} and t.queue = ${queue} and t.happened_at < p.position
      -- Otherwise an execution that is still waiting would become a message again.
      and not case when t.message_id ~ '\\.(waiting|held)$' then exists (
        select 1 from task_executions x where x.id = split_part(t.message_id, '.', 1)::uuid and x.state in ('waiting', 'held'))
      else false end`;
  return result.count;
}
