import { lockKeys } from "../platform/database/advisory-lock.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";

export interface RefusedDelivery {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
  readonly event_name: string | null;
  readonly reason: string;
}

/**
 * Stores refused deliveries of all replicas, at most `most` per source and day (UTC). Returns the sources that have reached this
 * limit for the day.
 */
export const insertRefused = (sql: Sql, all: readonly RefusedDelivery[], dayMs: number, most: number): Promise<string[]> =>
  sql.begin(async (tx) => {
    // Locked before the statement that counts, so that it sees the rows of other replicas.
    await tx`select pg_advisory_xact_lock(${lockKeys.refusals})`;
    const rows = await tx<{ source: string }[]>`
      with given as (
        select g.*, row_number() over (partition by g.source order by g.id) as n
        from json_to_recordset(${JSON.stringify(all)}::text::json) as g (id uuid, source text, slug text, event_name text, reason text)
      ), kept as (
        select s.source, (select count(*) from refused_deliveries r where r.source = s.source and r.id >= ${firstIdOf(dayMs)}::uuid) as kept
        from (select distinct source from given) s
      ), stored as (
        insert into refused_deliveries (id, source, slug, event_name, reason)
        select g.id, g.source, g.slug, g.event_name, g.reason from given g join kept k using (source) where k.kept + g.n <= ${most}
      )
      select k.source from kept k join given g using (source) group by k.source, k.kept having k.kept + count(*) >= ${most}`;
    return rows.map(({ source }) => source);
  });

/** Stores that the previous secret of an account was used. */
export async function savePreviousUse(sql: Sql, connection: string): Promise<void> {
  await sql`
    insert into previous_secret_uses (connection) values (${connection})
    on conflict (connection) do update set used_at = now()`;
}
