import type { Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";

export interface RefusedDelivery {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
  readonly event_name: string | null;
  readonly reason: string;
}

/** Key of an advisory lock: an arbitrary number, the same on every replica. */
const counting = 7_160_416;

/**
 * Stores refused deliveries, at most `most` of each source on one day (UTC), whichever replica refused them. Returns the sources
 * of which no more are stored on that day.
 */
export const insertRefused = (sql: Sql, all: readonly RefusedDelivery[], dayMs: number, most: number): Promise<string[]> =>
  sql.begin(async (tx) => {
    // Taken before the statement that counts, so that it sees what the others have stored.
    await tx`select pg_advisory_xact_lock(${counting})`;
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

/** Notes that the previous secret of an account was used. */
export async function savePreviousUse(sql: Sql, connection: string): Promise<void> {
  await sql`
    insert into previous_secret_uses (connection) values (${connection})
    on conflict (connection) do update set used_at = now()`;
}
