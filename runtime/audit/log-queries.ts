import type { list, verify } from "@signalbox/schema/audit-log";
import type { Input, Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";
import { type History, type HistoryPage, readHistory } from "../platform/database/history-page.ts";

type AuditLogEntry = Output<typeof list>["items"][number];

/** Appends entries (JSON texts) to the chain. All replicas append one after the other. */
export async function appendToLog(sql: Queryable, entries: readonly string[]): Promise<void> {
  await sql`select append_to_audit_log(${entries as string[]}::text[])`;
}

/**
 * `subjects`: returns only entries whose object is an event or execution of these subjects, or that erased them; absent: all
 * entries.
 */
export function listLog(
  sql: Queryable,
  { subjects, ...filter }: Omit<Input<typeof list>, "subject"> & { readonly subjects?: readonly string[] | undefined },
): Promise<HistoryPage<AuditLogEntry>> {
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`;
  const aboutSubjects = subjects
    ? sql`and (object in (
        select 'task-executions/' || e.id from task_executions e where e.subject = any(${subjects as string[]}::text[])
        union all select 'tasks/' || e.id from task_executions e where e.subject = any(${subjects as string[]}::text[])
        union all select 'webhook-events/' || w.id from webhook_events w where w.subject = any(${subjects as string[]}::text[]))
        or operation in ('data.erase', 'data.erase.start') and (entry -> 'after' -> 'subjects')::jsonb ?| ${subjects as string[]}::text[])`
    : sql``;
  const history: History = {
    table: sql`audit_log`,
    key: sql`seq`,
    keyType: "bigint",
    time: sql`created_at`,
    columns: sql`seq, actor, operation, object, entry -> 'before' as before, entry -> 'after' as after, entry ->> 'request_id' as request_id,
      created_at, encode(hash, 'hex') as hash`,
    where: sql`${equals("actor", filter.actor)} ${equals("operation", filter.operation)} ${equals("object", filter.object)} ${aboutSubjects}`,
    text: sql`entry::text`,
  };
  return readHistory<AuditLogEntry>(sql, history, filter);
}

/**
 * Computes the chain again. Its oldest entry must be the one that retention kept, and its newest the one that was appended last.
 */
export async function verifyLog(sql: Queryable): Promise<Output<typeof verify>> {
  // Times are compared as texts, because a tampered entry may contain no valid time.
  const [row] = await sql<[{ entries: number; first_seq: number | null; broken_at: number | null; hash: string }]>`
    with head as (select seq, hash, removed_to from audit_head), chain as (
      select seq, hash, sha256(previous_hash || convert_to(entry::text, 'UTF8')) as computed,
        (previous_hash = coalesce(lag(hash) over w, case when seq = 1 then decode(repeat('00', 32), 'hex') else previous_hash end)
          and seq = coalesce(lag(seq) over w, (select removed_to from head), seq - 1) + 1
          and to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') = entry ->> 'at') is true as follows
      from audit_log window w as (order by seq)
    )
    select count(*) as entries, min(chain.seq) as first_seq, coalesce(encode((select hash from head), 'hex'), '') as hash,
      coalesce(min(chain.seq) filter (where not follows or chain.hash <> computed), case
        when max(chain.seq) is null and coalesce((select seq from head), 1) > 0 then 1
        when max(chain.seq) <> (select seq from head) then least(max(chain.seq), (select seq from head)) + 1
        when not exists (select 1 from audit_log l join head h on h.seq = l.seq and h.hash = l.hash) and count(*) > 0 then max(chain.seq)
      end) as broken_at
    from chain`;
  return { ...row, state: row.broken_at === null ? "intact" : "broken" };
}
