import type { Queryable, Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";

/** One portion of a pass: its last row, or `null` at the end of the table, and the number of changed rows. */
export interface Portion {
  readonly last: string | null;
  readonly changed: number;
}

const first = "00000000-0000-0000-0000-000000000000";
const isOpen = (sql: Queryable) => sql`state not in ('succeeded', 'failed', 'cancelled')`;

/**
 * Removes bodies and headers of events before `before`, and of discarded ones before `discardedBefore` (milliseconds; 0: never).
 */
export async function removeBodies(
  sql: Sql,
  after: string | null,
  { before, discardedBefore }: { before: number; discardedBefore: number },
  limit: number,
): Promise<Portion> {
  const [row] = await sql<[Portion]>`
    with page as materialized (
      select id from webhook_events where id > ${after ?? first}::uuid and id < ${firstIdOf(Math.max(before, discardedBefore))}::uuid
      order by id limit ${limit}
    ), removed as (
      update webhook_events e set body = '', headers = '{}', title = null, body_removed_at = now()
      from page p where e.id = p.id and e.body_removed_at is null
        and (e.id < ${firstIdOf(before)}::uuid or (e.outcome <> 'dispatched' and e.id < ${firstIdOf(discardedBefore)}::uuid))
        and not exists (select 1 from task_executions x where x.event_id = e.id and ${isOpen(sql)})
      returning 1
    )
    select case when (select count(*) from page) = ${limit} then (select id from page order by id desc limit 1) end as last,
      (select count(*) from removed) as changed`;
  return row;
}

export async function removeRefused(sql: Sql, before: number, limit: number): Promise<number> {
  const result = await sql`
    delete from refused_deliveries where id in (
      select id from refused_deliveries where id < ${firstIdOf(before)}::uuid order by id limit ${limit})`;
  return result.count;
}

/** Removes steps, texts and results of ended executions that were created before `before`. */
export async function removeTranscripts(sql: Sql, after: string | null, before: number, limit: number): Promise<Portion> {
  const [row] = await sql<[Portion]>`
    with page as materialized (
      select id from task_executions where id > ${after ?? first}::uuid and id < ${firstIdOf(before)}::uuid order by id limit ${limit}
    ), removed as (
      update task_executions e set content = '', packed_content = null, changes = '{}', result = null, packed_result = null, answer_step = null,
        transcript_removed_at = now()
      from page p where e.id = p.id and e.transcript_removed_at is null and not (${isOpen(sql)})
      returning e.id
    ), steps as (
      delete from execution_steps where execution_id in (select id from removed)
    )
    select case when (select count(*) from page) = ${limit} then (select id from page order by id desc limit 1) end as last,
      (select count(*) from removed) as changed`;
  return row;
}

/** Removes the records of chats and direct calls of tools. */
export async function removeUnattachedSteps(sql: Sql, before: number, limit: number): Promise<number> {
  const result = await sql`
    delete from execution_steps where id in (
      select id from execution_steps where execution_id is null and created_at < ${new Date(before).toISOString()}::timestamptz
      order by created_at limit ${limit})`;
  return result.count;
}

/**
 * Removes events with their executions. Keeps executions that have not ended, and days whose usage is not summed finally, because
 * only the sums remain.
 */
export async function removeHistory(sql: Sql, after: string | null, before: number, limit: number): Promise<Portion> {
  const [row] = await sql<[Portion]>`
    with page as materialized (
      select id, received_at from webhook_events where id > ${after ?? first}::uuid and id < ${firstIdOf(before)}::uuid
      order by id limit ${limit}
    ), removed as (
      delete from webhook_events e using page p where e.id = p.id
        and exists (select 1 from usage_sums s where s.day = (p.received_at at time zone 'UTC')::date and s.open = 0)
        and not exists (select 1 from task_executions x where x.event_id = e.id
          and (${isOpen(sql)} or not exists (select 1 from usage_sums s where s.day = (x.created_at at time zone 'UTC')::date and s.open = 0)))
      returning 1
    )
    select case when (select count(*) from page) = ${limit} then (select id from page order by id desc limit 1) end as last,
      (select count(*) from removed) as changed`;
  return row;
}

export async function removeAttempts(sql: Sql, before: number, limit: number): Promise<number> {
  const result = await sql`
    delete from execution_history where ctid in (
      select ctid from execution_history where created_at < ${new Date(before).toISOString()}::timestamptz limit ${limit})`;
  return result.count;
}

/**
 * Removes the oldest entries of the audit log, but never the newest one, and none behind one that remains: an entry that was appended
 * late has an earlier time than those before it. Stores the last removed entry, so that the chain can
 * still be verified.
 */
export async function removeAuditEntries(sql: Sql, before: number, limit: number): Promise<number> {
  const [row] = await sql<[{ removed: number }]>`
    with removed as (
      delete from audit_log where seq in (
        select seq from (
          select seq, bool_and(created_at < ${new Date(before).toISOString()}::timestamptz) over (order by seq) as is_due
          from (select seq, created_at from audit_log order by seq limit ${limit}) oldest
        ) due where is_due and seq < (select seq from audit_head))
      returning seq
    ), noted as (
      update audit_head set removed_to = greatest(removed_to, (select max(seq) from removed)) where exists (select 1 from removed)
    )
    select count(*) as removed from removed`;
  return row.removed;
}

/** Removes watchdog entries before `before`, and all but the newest `most`. */
export async function removeWatchdogEntries(sql: Sql, before: number, most: number, limit: number): Promise<number> {
  const result = await sql`
    delete from watchdog_logs where id in (
      select id from watchdog_logs where created_at < ${new Date(before).toISOString()}::timestamptz
        or id <= (select id from watchdog_logs order by id desc offset ${most} limit 1)
      order by id limit ${limit})`;
  return result.count;
}

/** The number of rows that the next pass removes by each rule, at most 10,000 each. */
export async function countDue(
  sql: Queryable,
  before: {
    bodies: number;
    discarded: number;
    refused: number;
    transcripts: number;
    history: number;
    audit: number;
    watchdog: number;
  },
): Promise<Record<keyof typeof before, number>> {
  const countCapped = (query: ReturnType<Queryable>) => sql`(select count(*) from (${query} limit 10000) c)`;
  const time = (ms: number) => new Date(ms).toISOString();
  const isKept = sql`exists (select 1 from task_executions x where x.event_id = e.id and ${isOpen(sql)})`;
  // A day without a sum is summed first.
  const isOpenDay = (at: ReturnType<Queryable>) =>
    sql`exists (select 1 from usage_sums s where s.day = (${at} at time zone 'UTC')::date and s.open > 0)`;
  const isKeptForSums = sql`(${isOpenDay(sql`e.received_at`)}
    or exists (select 1 from task_executions x where x.event_id = e.id and ${isOpenDay(sql`x.created_at`)}))`;
  const [row] = await sql<[Record<keyof typeof before, number>]>`
    select
      ${countCapped(sql`select 1 from webhook_events e where id < ${firstIdOf(before.bodies)}::uuid and body_removed_at is null and not ${isKept}`)} as bodies,
      ${countCapped(sql`select 1 from webhook_events e where id < ${firstIdOf(before.discarded)}::uuid and body_removed_at is null and outcome <> 'dispatched' and not ${isKept}`)} as discarded,
      ${countCapped(sql`select 1 from refused_deliveries where id < ${firstIdOf(before.refused)}::uuid`)} as refused,
      ${countCapped(sql`select 1 from task_executions where id < ${firstIdOf(before.transcripts)}::uuid and transcript_removed_at is null and not (${isOpen(sql)})`)} as transcripts,
      ${countCapped(sql`select 1 from webhook_events e where id < ${firstIdOf(before.history)}::uuid and not ${isKept} and not ${isKeptForSums}`)} as history,
      ${countCapped(sql`select 1 from audit_log where created_at < ${time(before.audit)}::timestamptz`)} as audit,
      ${countCapped(sql`select 1 from watchdog_logs where created_at < ${time(before.watchdog)}::timestamptz`)} as watchdog`;
  return row;
}

interface TableSize {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/** Tables with their sizes, largest first. The number of rows is an estimate from the server's statistics. */
export const tableSizes = (sql: Queryable): Promise<TableSize[]> =>
  sql<TableSize[]>`
    select c.relname as name, greatest(c.reltuples, coalesce(s.n_live_tup, 0), 0)::bigint as rows, pg_total_relation_size(c.oid)::bigint as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_user_tables s on s.relid = c.oid
    where c.relkind in ('r', 'p') and n.nspname = current_schema() order by bytes desc, name`;

export async function databaseSize(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`select pg_database_size(current_database())::bigint as bytes`;
  return row.bytes;
}

/** Stores today's sizes, and removes those that are older than 400 days. */
export async function sampleSizes(sql: Sql): Promise<void> {
  await sql`
    insert into storage_samples (day, table_name, row_count, bytes)
    select (now() at time zone 'UTC')::date, c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p') and n.nspname = current_schema()
    on conflict (day, table_name) do update set row_count = excluded.row_count, bytes = excluded.bytes`;
  await sql`delete from storage_samples where day < (now() at time zone 'UTC')::date - 400`;
}

/** The oldest size of each table within the last 30 days, except today's. */
export const listEarlierSizes = (sql: Queryable): Promise<{ name: string; bytes: number; days: number }[]> =>
  sql<{ name: string; bytes: number; days: number }[]>`
    select distinct on (table_name) table_name as name, bytes, (now() at time zone 'UTC')::date - day as days from storage_samples
    where day >= (now() at time zone 'UTC')::date - 30 and day < (now() at time zone 'UTC')::date order by table_name, day`;
