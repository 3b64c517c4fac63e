import type { list, verify } from "@signalbox/schema/audit-log";
import type { Input, Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

export type AuditLogEntry = Output<typeof list>["items"][number];

/** Appends entries, JSON texts, to the chain. Appends of all replicas come one after the other. */
export async function appendToLog(sql: Queryable, entries: readonly string[]): Promise<void> {
  await sql`select append_to_audit_log(${entries as string[]}::text[])`;
}

export async function listLog(
  sql: Queryable,
  { limit, offset, ...filter }: Input<typeof list>,
): Promise<{ items: AuditLogEntry[]; total: number }> {
  const where = sql`
    where (${filter.actor ?? null}::text is null or actor = ${filter.actor ?? null})
      and (${filter.operation ?? null}::text is null or operation = ${filter.operation ?? null})
      and (${filter.object ?? null}::text is null or object = ${filter.object ?? null})
      and (${filter.from ?? null}::timestamptz is null or created_at >= ${filter.from ?? null}::timestamptz)
      and (${filter.to ?? null}::timestamptz is null or created_at < ${filter.to ?? null}::timestamptz)`;
  const items = await sql<AuditLogEntry[]>`
    select seq, actor, operation, object, entry -> 'before' as before, entry -> 'after' as after, entry ->> 'request_id' as request_id,
      created_at, encode(hash, 'hex') as hash
    from audit_log ${where} order by seq desc limit ${limit} offset ${offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from audit_log ${where}`;
  return { items, total: count.total };
}

/** Computes the chain again. Retention may have removed the oldest entries, never the newest one. */
export async function verifyLog(sql: Queryable): Promise<Output<typeof verify>> {
  const [row] = await sql<[{ entries: number; first_seq: number | null; broken_at: number | null; hash: string }]>`
    with chain as (
      select seq, hash, sha256(previous_hash || convert_to(entry::text, 'UTF8')) as computed,
        previous_hash = coalesce(lag(hash) over w, case when seq = 1 then decode(repeat('00', 32), 'hex') else previous_hash end)
          and seq = coalesce(lag(seq) over w + 1, seq) and created_at = (entry ->> 'at')::timestamptz as follows
      from audit_log window w as (order by seq)
    ), head as (select seq, hash from audit_head)
    select count(*) as entries, min(chain.seq) as first_seq, encode((select hash from head), 'hex') as hash,
      coalesce(min(chain.seq) filter (where not follows or chain.hash <> computed), case
        when max(chain.seq) is null and (select seq from head) > 0 then 1
        when max(chain.seq) <> (select seq from head) then least(max(chain.seq), (select seq from head)) + 1
        when not exists (select 1 from audit_log l join head h on h.seq = l.seq and h.hash = l.hash) and count(*) > 0 then max(chain.seq)
      end) as broken_at
    from chain`;
  return { ...row, state: row.broken_at === null ? "intact" : "broken" };
}
