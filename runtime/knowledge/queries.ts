import type { Queryable } from "../platform/database/client.ts";
import { retryOnDeadlock } from "../platform/database/retry-on-deadlock.ts";

export interface StoredSource {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Without secret members. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The secret members, encrypted together; `null` if there are none. */
  readonly secrets: string | null;
  readonly secret_members: readonly string[];
  readonly project_id: number | null;
  readonly enabled: boolean;
  readonly last_synced_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}
type NewSource = Omit<StoredSource, "last_synced_at" | "created_at" | "updated_at">;

export async function listSources(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: StoredSource[]; total: number }> {
  const items = await sql<StoredSource[]>`
    select * from knowledge_sources order by created_at, id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from knowledge_sources`;
  return { items, total: count.total };
}

export async function findSource(sql: Queryable, id: string): Promise<StoredSource | undefined> {
  const [row] = await sql<StoredSource[]>`select * from knowledge_sources where id = ${id}`;
  return row;
}

export async function insertSource(sql: Queryable, one: NewSource): Promise<StoredSource> {
  const [row] = await sql<[StoredSource]>`
    insert into knowledge_sources (id, name, type, config, secrets, secret_members, project_id, enabled)
    values (${one.id}, ${one.name}, ${one.type}, ${JSON.stringify(one.config)}::text::jsonb, ${one.secrets},
      ${one.secret_members as string[]}, ${one.project_id}, ${one.enabled})
    returning *`;
  return row;
}

/** Returns `undefined` if the source has been changed or deleted since `before` was read. */
export async function updateSource(
  sql: Queryable,
  before: StoredSource,
  changes: Partial<NewSource>,
): Promise<StoredSource | undefined> {
  const one = { ...before, ...changes };
  const [row] = await sql<StoredSource[]>`
    update knowledge_sources set name = ${one.name}, config = ${JSON.stringify(one.config)}::text::jsonb, secrets = ${one.secrets},
      secret_members = ${one.secret_members as string[]}, project_id = ${one.project_id}, enabled = ${one.enabled}, updated_at = now()
    where id = ${one.id} and name = ${before.name} and config = ${JSON.stringify(before.config)}::text::jsonb
      and secrets is not distinct from ${before.secrets} and project_id is not distinct from ${before.project_id}
      and enabled = ${before.enabled}
    returning *`;
  return row;
}

/** Locks a source against change and deletion until the transaction ends: both lock its row first. */
export const holdSource = async (sql: Queryable, id: string): Promise<boolean> =>
  (await sql`select 1 from knowledge_sources where id = ${id} for share`).length > 0;

/** Concurrent vector writes may lock its chunks in another order; a deadlock is retried. */
export const deleteSource = async (sql: Queryable, id: string): Promise<boolean> =>
  (await retryOnDeadlock(async () => sql`delete from knowledge_sources where id = ${id}`)).count > 0;

/** Makes the next sync read every page again, because the settings point to another server. A running sync restarts. */
export async function forgetProgress(sql: Queryable, id: string): Promise<void> {
  await sql`update knowledge_pages set revision = null where knowledge_source_id = ${id}`;
  await sql`
    update ingestion_jobs set status = 'queued', lease = null, lease_expires_at = null, cursor = null, listed = false, attempts = 0,
      error = null, next_attempt_at = now(), pages_seen = 0, pages_changed = 0, pages_deleted = 0, chunks_written = 0
    where knowledge_source_id = ${id} and status in ('queued', 'running')`;
}
