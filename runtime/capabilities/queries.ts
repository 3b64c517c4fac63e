import type { add } from "@signalbox/schema/capabilities";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

type Capability = Output<typeof add>;

export async function listCapabilities(
  sql: Queryable,
  { id, limit, offset }: { id: string; limit: number; offset: number },
): Promise<{ items: Capability[]; total: number }> {
  const items = await sql<Capability[]>`
    select id, agent_id, capability, created_at from agent_capabilities where agent_id = ${id} order by id limit ${limit} offset ${offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from agent_capabilities where agent_id = ${id}`;
  return { items, total: count.total };
}

export async function hasAgent(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`select 1 from agents where id = ${id}`).length > 0;
}

/** Returns `undefined` if the agent already has the capability, or does not exist. */
export async function insertCapability(sql: Queryable, agentId: string, capability: string): Promise<Capability | undefined> {
  const [row] = await sql<Capability[]>`
    insert into agent_capabilities (agent_id, capability)
    select a.id, ${capability}::text from agents a where a.id = ${agentId} for key share
    on conflict (agent_id, capability) do nothing returning id, agent_id, capability, created_at`;
  return row;
}

export async function deleteCapability(sql: Queryable, agentId: string, id: number): Promise<boolean> {
  return (await sql`delete from agent_capabilities where agent_id = ${agentId} and id = ${id}`).count > 0;
}
