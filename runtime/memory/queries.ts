import type { Json, SqlStatement } from "@signalbox/sdk";
import type { Queryable, Sql } from "../platform/database/client.ts";

/** The memory that holds a key. */
interface KeyRow {
  readonly key: string;
  readonly id: string;
  readonly store: string;
  /** Whether the key is free: its memory expired, or the replica that created it died. */
  readonly free: boolean;
  /** Whether the memory is being written now. */
  readonly pending: boolean;
  /** Whether the key becomes free by itself, when its memory expires. */
  readonly expires: boolean;
}

/** A creation that takes longer is considered dead, milliseconds. */
export const pendingMs = 30_000;

export interface Reservation {
  readonly key: string;
  readonly id: string;
  readonly store: string;
  /** Lifetime of the memory, milliseconds; `null`: unlimited. */
  readonly ttl_ms: number | null;
}

const pendingUntil = (sql: Queryable) => sql`now() + ${pendingMs}::int * interval '1 millisecond'`;

/** The agent and project that a memory refers to. */
export interface References {
  readonly agent_id: string | null;
  readonly project_id: number | null;
}

/**
 * Reserves a free key, or one whose memory has expired, if the agent and project of the memory exist. `has_key: false`: the key
 * is taken. With `soon`, the commit does not wait for the disk. That is safe: a memory that is written to the same database
 * afterwards cannot become durable before its reservation, and a reservation without a memory was acknowledged to no client.
 */
export async function reserveKey(
  sql: Queryable,
  { key, id, store }: Reservation,
  { agent_id, project_id }: References,
  soon: boolean,
): Promise<{ has_key: boolean; agent: boolean; project: boolean }> {
  const [row] = await sql<[{ has_key: boolean; agent: boolean; project: boolean }]>`
    with there as materialized (
      select (${agent_id}::text is null or exists (select 1 from agents where id = ${agent_id})) as agent,
        (${project_id}::int is null or exists (select 1 from projects where id = ${project_id})) as project,
        case when ${soon} then set_config('synchronous_commit', 'off', true) end as how),
    reserved as (
      insert into memory_keys (key, id, store, pending_until)
      select ${key}, ${id}::uuid, ${store}, ${pendingUntil(sql)} from there where agent and project
      on conflict (key) do update set id = excluded.id, store = excluded.store, pending_until = excluded.pending_until, expires_at = null
      where memory_keys.expires_at <= now() returning key)
    select agent, project, exists (select 1 from reserved) as has_key from there`;
  return row;
}

/** Result of one memory of a batch that is stored together with its keys. */
export interface Outcome {
  readonly id: string;
  /** Whether the agent and project exist. */
  readonly agent: boolean;
  readonly project: boolean;
  /** True if the memory got its key; false if the key is taken. */
  readonly has_key: boolean;
  readonly stored: boolean;
}

/** A memory to store; `entry`: its entry in the audit log. */
type KeyedMemory = Reservation & References & { readonly entry: string | null };

/**
 * Stores memories, reserves their keys and appends their entries to the audit log in one statement, if all are in this database:
 * each memory completely or not at all. The log is locked last, so other replicas wait only for the commit. No two memories may have
 * the same key. `put` returns the statement that stores them; its parameters start after the given number.
 */
export async function storeWithKeys(
  sql: Sql,
  all: readonly KeyedMemory[],
  put: (parametersBefore: number) => SqlStatement,
): Promise<Outcome[]> {
  const values: Json[] = [];
  const add = (value: Json) => `$${values.push(value)}`;
  const rows = all.map(({ key, id, store, ttl_ms, agent_id, project_id, entry }) => {
    const refers = `${add(agent_id)}::text, ${add(project_id)}::int`;
    return `(${add(key)}::text, ${add(id)}::uuid, ${add(store)}::text, ${add(ttl_ms)}::bigint, ${refers}, ${add(entry)}::text)`;
  });
  const putStatement = put(values.length);
  const text = `with given as materialized (
      select *, (agent_id is null or exists (select 1 from agents where agents.id = agent_id)) as agent,
        (project_id is null or exists (select 1 from projects where projects.id = project_id)) as project
      from (values ${rows.join(", ")}) given (key, id, store, ttl_ms, agent_id, project_id, entry)),
    held as (
      insert into memory_keys (key, id, store, expires_at)
      select key, id, store, now() + ttl_ms * interval '1 millisecond' from given where agent and project order by key
      on conflict (key) do update set id = excluded.id, store = excluded.store, expires_at = excluded.expires_at, pending_until = null
      where memory_keys.expires_at <= now() returning id),
    stored as (${putStatement.text}),
    logged as materialized (
      select append_to_audit_log(array_agg(entry)) from given where entry is not null and id in (select id from stored) having count(*) > 0)
    select id, agent, project, id in (select id from held) as has_key, id in (select id from stored) as stored,
      (select count(*) from logged) as logged from given`;
  return [...(await sql.unsafe<Outcome[]>(text, [...values, ...putStatement.parameters] as never[], { prepare: true }))];
}

/** Checks before a memory is stored: whether its agent and project exist, and whether its key is taken. */
export async function checkBeforeStoring(
  sql: Queryable,
  key: string,
  { agent_id, project_id }: References,
): Promise<{ agent: boolean; project: boolean; is_taken: boolean }> {
  const [row] = await sql<[{ agent: boolean; project: boolean; is_taken: boolean }]>`
    select (${agent_id}::text is null or exists (select 1 from agents where id = ${agent_id})) as agent,
      (${project_id}::int is null or exists (select 1 from projects where id = ${project_id})) as project,
      exists (select 1 from memory_keys where key = ${key} and (expires_at is null or expires_at > now())) as is_taken`;
  return row;
}

/** Takes over the key of a memory that no longer exists; `false` if another request was faster. */
export async function takeKey(sql: Queryable, from: string, { key, id, store }: Reservation): Promise<boolean> {
  const rows = await sql`
    update memory_keys set id = ${id}, store = ${store}, pending_until = ${pendingUntil(sql)}, expires_at = null
    where key = ${key} and id = ${from} and (pending_until is null or pending_until <= now()) returning key`;
  return rows.length > 0;
}

export async function findKey(sql: Queryable, key: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select key, id, store, coalesce(expires_at <= now(), false) as free, coalesce(pending_until > now(), false) as pending, expires_at is not null as expires
    from memory_keys where key = ${key}`;
  return row;
}

/**
 * Confirms the keys of memories that are written. Returns those still reserved by their memory. A confirmation lost in a crash of
 * the server does no harm: the next request for the key checks the store.
 */
export const confirmKeys = (sql: Queryable, all: readonly Pick<Reservation, "id" | "ttl_ms">[]): Promise<{ id: string }[]> =>
  sql<{ id: string }[]>`
    with how as materialized (select set_config('synchronous_commit', 'off', true) as how)
    update memory_keys k set pending_until = null, expires_at = now() + e.ttl_ms * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(all)}::text::jsonb) e (id uuid, ttl_ms bigint), how
    where k.id = e.id and how.how is not null returning k.id`;

/** It is unknown whether the memory was written: the next request for the key checks the store. */
export const markKeyUnconfirmed = async (sql: Queryable, key: string, id: string): Promise<void> =>
  void (await sql`update memory_keys set pending_until = now() where key = ${key} and id = ${id}`);

export const releaseKey = async (sql: Queryable, key: string, id: string): Promise<void> =>
  void (await sql`delete from memory_keys where key = ${key} and id = ${id}`);

export async function sweepKeys(sql: Queryable): Promise<number> {
  const rows = await sql`
    delete from memory_keys where key in (select key from memory_keys where expires_at <= now() limit 1000 for update skip locked)`;
  return rows.count;
}

/** Whether any memories and any document chunks exist. */
export async function anythingStored(sql: Queryable): Promise<{ memories: boolean; chunks: boolean }> {
  const [row] = await sql<[{ memories: boolean; chunks: boolean }]>`
    select exists (select 1 from memory_keys) as memories, exists (select 1 from document_chunks) as chunks`;
  return row;
}

interface EmbeddingSettings {
  readonly installation: string;
  readonly model: string | null;
  readonly dimension: number | null;
}

export async function findSettings(sql: Queryable): Promise<EmbeddingSettings> {
  const [row] = await sql<[EmbeddingSettings]>`select installation, model, dimension from embedding_settings`;
  return row;
}

/** Stores the model of the vectors, unless another replica already did. */
export const adoptModel = async (sql: Queryable, model: string, dimension: number): Promise<void> =>
  void (await sql`update embedding_settings set model = ${model}, dimension = ${dimension} where model is null`);

/** Switches to another model while nothing is stored; `false` otherwise. The vector columns are created again at the start. */
export const replaceModel = (sql: Sql, model: string, dimension: number): Promise<boolean> =>
  sql.begin(async (transaction) => {
    await transaction`lock table memories, document_chunks in access exclusive mode`;
    const [row] = await transaction<[{ stored: boolean }]>`
      select exists (select 1 from memories) or exists (select 1 from document_chunks) as stored`;
    if (row.stored) return false;
    await transaction`alter table memories drop column if exists embedding`;
    await transaction`alter table document_chunks drop column if exists embedding`;
    await transaction`update embedding_settings set model = ${model}, dimension = ${dimension}`;
    return true;
  });

/** A page of the keys in use, sorted, with their remaining lifetimes. */
export const listKeys = (
  sql: Queryable,
  after: string,
  limit: number,
): Promise<{ key: string; store: string; ttl_seconds: number | null }[]> =>
  sql<{ key: string; store: string; ttl_seconds: number | null }[]>`
    select key, store, ceil(extract(epoch from expires_at - now()))::int as ttl_seconds
    from memory_keys where key > ${after} and (expires_at is null or expires_at > now()) order by key limit ${limit}`;

export async function countUnembedded(sql: Queryable): Promise<{ total: number }> {
  const [row] = await sql<[{ total: number }]>`
    select (select count(*) from memories where embedding is null and (expires_at is null or expires_at > now()))
      + (select count(*) from document_chunks where embedding is null) as total`;
  return row;
}

/** Switches to another model and drops all vectors in one transaction. Their columns are created again at the next start. */
export const changeModel = async (sql: Sql, tables: readonly string[], model: string, dimension: number): Promise<void> =>
  void (await sql.begin(async (tx) => {
    for (const table of tables) await tx`alter table ${tx(table)} drop column if exists embedding`;
    await tx`update embedding_settings set model = ${model}, dimension = ${dimension}`;
  }));
