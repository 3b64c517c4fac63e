import type { createSource, createTrigger } from "@signalbox/schema/mappings";
import type { Input, Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

export type SourceMapping = Output<typeof createSource>;
export type TriggerMapping = Output<typeof createTrigger>;
type Page = { limit: number; offset: number };

export async function listSourceMappings(sql: Queryable, page: Page): Promise<{ items: SourceMapping[]; total: number }> {
  const items = await sql<SourceMapping[]>`select * from source_mappings order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from source_mappings`;
  return { items, total: count.total };
}

export const allSourceMappings = (sql: Queryable): Promise<SourceMapping[]> =>
  sql<SourceMapping[]>`select * from source_mappings order by id`;

/** `undefined` if the same source, event and action are already mapped. */
export async function insertSourceMapping(
  sql: Queryable,
  mapping: Input<typeof createSource>,
): Promise<SourceMapping | undefined> {
  const [row] = await sql<SourceMapping[]>`
    insert into source_mappings (source, event_name, action, canonical_trigger)
    values (${mapping.source}, ${mapping.event_name}, ${mapping.action ?? null}, ${mapping.canonical_trigger})
    on conflict (source, event_name, action) do nothing returning *`;
  return row;
}

export async function deleteSourceMapping(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from source_mappings where id = ${id}`).count > 0;
}

export async function listTriggerMappings(sql: Queryable, page: Page): Promise<{ items: TriggerMapping[]; total: number }> {
  const items = await sql<TriggerMapping[]>`select * from trigger_mappings order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from trigger_mappings`;
  return { items, total: count.total };
}

export interface TaskMapping extends TriggerMapping {
  readonly task_exists: boolean;
  /** The agent that runs the task; `null` if it is chosen by capability when the task runs. */
  readonly agent_id: string | null;
}

/** Every trigger-task mapping, with the facts about its task. */
export const allTriggerMappings = (sql: Queryable): Promise<TaskMapping[]> =>
  sql<TaskMapping[]>`
    select m.*, t.id is not null as task_exists,
      case when cardinality(t.required_capabilities) = 0 then t.actor_id end as agent_id
    from trigger_mappings m left join tasks t on t.id = m.task_id order by m.id`;

/** `undefined` if the trigger is already mapped to this task. */
export async function insertTriggerMapping(
  sql: Queryable,
  { canonical_trigger, task_id, conditions }: Pick<TriggerMapping, "canonical_trigger" | "task_id"> & Partial<TriggerMapping>,
): Promise<TriggerMapping | undefined> {
  const [row] = await sql<TriggerMapping[]>`
    insert into trigger_mappings ${sql({ canonical_trigger, task_id, conditions: conditions ?? {} })}
    on conflict (canonical_trigger, task_id) do nothing returning *`;
  return row;
}

export async function deleteTriggerMapping(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from trigger_mappings where id = ${id}`).count > 0;
}
