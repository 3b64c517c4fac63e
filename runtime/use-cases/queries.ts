import type { Json } from "@signalbox/sdk";
import type { Queryable } from "../platform/database/client.ts";

/** The stored state of a use case; `null` if it has not been set up. */
export async function findState(sql: Queryable, name: string): Promise<Json> {
  const [row] = await sql<{ state: Json }[]>`select state from use_cases where name = ${name}`;
  return row?.state ?? null;
}

export async function saveState(sql: Queryable, name: string, state: Json): Promise<void> {
  await sql`
    insert into use_cases (name, state) values (${name}, ${JSON.stringify(state)}::text::jsonb)
    on conflict (name) do update set state = excluded.state`;
}

export async function deleteState(sql: Queryable, name: string): Promise<void> {
  await sql`delete from use_cases where name = ${name}`;
}
