import type { Output } from "@signalbox/schema/operation";
import type { list, remove } from "@signalbox/schema/pauses";
import type { Queryable } from "../platform/database/client.ts";

type Pause = Output<typeof remove>;
type Scope = Pause["scope"];

const columns = (sql: Queryable) => sql`scope, nullif(id, '') as id, reason, paused_by, paused_at`;

export async function listPauses(sql: Queryable, page: { limit: number; offset: number }): Promise<Output<typeof list>> {
  const items = await sql<Pause[]>`
    select ${columns(sql)} from pauses order by paused_at, scope, id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from pauses`;
  return { items, total: count.total };
}

export async function insertPause(sql: Queryable, pause: Omit<Pause, "paused_at">): Promise<Pause> {
  const [row] = await sql<[Pause]>`
    insert into pauses (scope, id, reason, paused_by) values (${pause.scope}, ${pause.id ?? ""}, ${pause.reason}, ${pause.paused_by})
    on conflict (scope, id) do update set reason = excluded.reason, paused_by = excluded.paused_by
    returning ${columns(sql)}`;
  return row;
}

export async function deletePause(sql: Queryable, scope: Scope, id: string | null): Promise<Pause | undefined> {
  const [row] = await sql<Pause[]>`
    delete from pauses where scope = ${scope} and id = ${id ?? ""} returning ${columns(sql)}`;
  return row;
}

/** Some ids that can be paused, with what they are about; first the project whose name at its platform was given. */
export async function pausableIds(sql: Queryable, scope: "project" | "agent", given: string): Promise<string[]> {
  const rows =
    scope === "agent"
      ? await sql<{ text: string }[]>`select id as text from agents order by id limit 10`
      : await sql<{ text: string }[]>`
          select id || ' (' || source || ':' || source_project_id || ')' as text from projects
          order by source_project_id = ${given} desc, id limit 10`;
  return rows.map(({ text }) => text);
}

/** Whether the project or agent to pause exists. */
export async function existsFor(sql: Queryable, scope: "project" | "agent", id: string): Promise<boolean> {
  const rows =
    scope === "agent"
      ? await sql`select 1 from agents where id = ${id}`
      : await sql`select 1 from projects where id::text = ${id}`;
  return rows.length > 0;
}
