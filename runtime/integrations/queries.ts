import type { Queryable } from "../platform/database/client.ts";

export interface StoredIntegration {
  readonly id: string;
  readonly source: string;
  /** The plugin that the credentials are for. */
  readonly plugin: string | null;
  readonly name: string;
  /** All credentials, encrypted. */
  readonly credentials: string;
  readonly members: readonly string[];
  readonly agent_id: string | null;
  readonly project_id: number | null;
  readonly created_at: string;
  readonly updated_at: string;
}
type NewIntegration = Omit<StoredIntegration, "created_at" | "updated_at">;

export async function listIntegrations(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: StoredIntegration[]; total: number }> {
  const items = await sql<StoredIntegration[]>`
    select * from integrations order by created_at, id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from integrations`;
  return { items, total: count.total };
}

/** Every integration, newest first: if two match, the newest is used. */
export const allIntegrations = (sql: Queryable): Promise<StoredIntegration[]> =>
  sql<StoredIntegration[]>`select * from integrations order by created_at desc, id desc`;

export async function findIntegration(sql: Queryable, id: string): Promise<StoredIntegration | undefined> {
  const [row] = await sql<StoredIntegration[]>`select * from integrations where id = ${id}`;
  return row;
}

export async function insertIntegration(sql: Queryable, one: NewIntegration): Promise<StoredIntegration> {
  const [row] = await sql<StoredIntegration[]>`
    insert into integrations (id, source, plugin, name, credentials, members, agent_id, project_id)
    values (${one.id}, ${one.source}, ${one.plugin}, ${one.name}, ${one.credentials}, ${one.members as string[]}, ${one.agent_id}, ${one.project_id})
    returning *`;
  return row as StoredIntegration;
}

/** Returns `undefined` if the integration has been changed or deleted since `before` was read. */
export async function updateIntegration(
  sql: Queryable,
  before: StoredIntegration,
  changes: Partial<NewIntegration>,
): Promise<StoredIntegration | undefined> {
  const one = { ...before, ...changes };
  // If work waits for this account, it is tried at once: the update may have corrected the credential.
  const [row] = await sql<StoredIntegration[]>`
    with updated as (
      update integrations set name = ${one.name}, credentials = ${one.credentials}, members = ${one.members as string[]},
        agent_id = ${one.agent_id}, project_id = ${one.project_id}, updated_at = now()
      where id = ${one.id} and name = ${before.name} and credentials = ${before.credentials}
        and agent_id is not distinct from ${before.agent_id} and project_id is not distinct from ${before.project_id}
      returning *
    ), retried as (
      update breakers set next_probe_at = now() from updated where key = 'connection ' || updated.source || ' ' || updated.id
    )
    select * from updated`;
  return row;
}

export async function deleteIntegration(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`delete from integrations where id = ${id}`).count > 0;
}

/** The last use of the previous secret that a rotation discards. */
export const deletePreviousUse = (sql: Queryable, id: string) => sql`delete from previous_secret_uses where connection = ${id}`;
