import { databaseInstant } from "../platform/clock.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import type { ParameterMap } from "./parameters.ts";

/** A stored tool. If a member is null, that of the provider is used. */
export interface ToolRow {
  readonly provider: string;
  readonly name: string;
  readonly description: string | null;
  readonly category: string | null;
  readonly parameters: ParameterMap | null;
  readonly endpoint: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}
export type NewTool = Omit<ToolRow, "created_at" | "updated_at">;
export type ToolChange = Partial<Pick<ToolRow, "description" | "category" | "parameters" | "endpoint">>;

export const allTools = (sql: Queryable): Promise<ToolRow[]> => sql<ToolRow[]>`select * from tools order by provider, name`;

const json = (value: unknown) => (value === null ? null : JSON.stringify(value));

/** Stores tools, and skips those whose name is taken. Returns the stored ones. */
export const insertTools = (sql: Sql, tools: readonly NewTool[]): Promise<ToolRow[]> => sql<ToolRow[]>`
    insert into tools (provider, name, description, category, parameters, endpoint)
    select provider, name, description, category, parameters, endpoint
    from json_to_recordset(${JSON.stringify(tools)}::text::json)
      as t (provider text, name text, description text, category text, parameters json, endpoint text)
    on conflict (provider, name) do nothing
    returning *`;

/** Returns whether the row existed. */
export async function updateTool(sql: Queryable, key: { provider: string; name: string }, change: ToolChange): Promise<boolean> {
  const { parameters, ...members } = change;
  const result = await sql`
    update tools set ${sql({ ...members, updated_at: databaseInstant() })}
      ${parameters === undefined ? sql`` : sql`, parameters = ${json(parameters)}::text::json`}
    where provider = ${key.provider} and name = ${key.name}`;
  return result.count > 0;
}

export async function deleteTool(sql: Queryable, key: { provider: string; name: string }): Promise<boolean> {
  return (await sql`delete from tools where provider = ${key.provider} and name = ${key.name}`).count > 0;
}
