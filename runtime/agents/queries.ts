import type { agentChange, create, get } from "@signalbox/schema/agents";
import type { Output } from "@signalbox/schema/operation";
import type { z } from "zod";
import { databaseInstant } from "../platform/clock.ts";
import type { Queryable } from "../platform/database/client.ts";

export type Agent = Output<typeof get>;
type StoredAgent = Omit<z.output<(typeof create)["input"]>, "auth_secret"> & SecretColumns;
interface SecretColumns {
  readonly auth_secret_hash?: string;
  readonly auth_secret_short?: boolean;
}

const columns = (sql: Queryable) => sql`
  id, name, role_id, description, prompt, context, identity, responsibilities, constraints, communication_style,
  model, temperature, allowed_tools, policy, trust_level, auth_enabled, created_at, updated_at,
  (select coalesce(array_agg(c.capability order by c.id), '{}') from agent_capabilities c where c.agent_id = agents.id) as capabilities`;

export async function listAgents(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: Agent[]; total: number }> {
  const items = await sql<
    Agent[]
  >`select ${columns(sql)} from agents order by created_at, id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from agents`;
  return { items, total: count.total };
}

export const findAgents = (sql: Queryable, ids: readonly string[]): Promise<Agent[]> =>
  sql<Agent[]>`select ${columns(sql)} from agents where id = any(${ids as string[]})`;

export async function findAgent(sql: Queryable, id: string): Promise<Agent | undefined> {
  const [agent] = await findAgents(sql, [id]);
  return agent;
}

/** Returns `undefined` if the id is taken. */
export async function insertAgent(sql: Queryable, agent: StoredAgent): Promise<Agent | undefined> {
  const [row] = await sql<Agent[]>`insert into agents ${sql(agent)} on conflict (id) do nothing returning ${columns(sql)}`;
  return row;
}

export async function updateAgent(
  sql: Queryable,
  id: string,
  change: Omit<z.output<typeof agentChange>, "id" | "auth_secret"> & SecretColumns,
): Promise<Agent | undefined> {
  const [row] = await sql<Agent[]>`
    update agents set ${sql({ ...change, updated_at: databaseInstant() })} where id = ${id} returning ${columns(sql)}`;
  return row;
}

export async function deleteAgent(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`delete from agents where id = ${id}`).count > 0;
}
