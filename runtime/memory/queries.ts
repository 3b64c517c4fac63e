import type { Json, SqlStatement } from "@signalbox/sdk";
import type { Queryable, Sql } from "../platform/database/client.ts";

/** Who holds a key. */
export interface KeyRow {
  readonly key: string;
  readonly id: string;
  readonly store: string;
  /** Nobody holds it any more: its time is over, or its creation died. */
  readonly free: boolean;
  /** The memory is being written at this moment. */
  readonly pending: boolean;
}

/** Longest that a creation may take before another one may suspect it dead. */
export const pendingMs = 30_000;

export interface Reservation {
  readonly key: string;
  readonly id: string;
  readonly store: string;
  /** Lifetime of the memory; `null`: for ever. */
  readonly ttl_ms: number | null;
}

const whilePending = (sql: Queryable) => sql`now() + ${pendingMs}::int * interval '1 millisecond'`;

/** What a memory refers to. */
export interface References {
  readonly agent_id: string | null;
  readonly project_id: number | null;
}

/**
 * Takes a key that nobody has, or whose memory has expired, where all exists that the memory refers to. `held: false`: it is
 * taken. With `soon` the answer does not wait for the disk: a memory that is written to the same database afterwards is not
 * durable before its reservation is, and what else a crash of the server takes away was never answered.
 */
export async function reserveKey(
  sql: Queryable,
  { key, id, store }: Reservation,
  { agent_id, project_id }: References,
  soon: boolean,
): Promise<{ held: boolean; agent: boolean; project: boolean }> {
  const [row] = await sql<[{ held: boolean; agent: boolean; project: boolean }]>`
    with there as materialized (
      select (${agent_id}::text is null or exists (select 1 from agents where id = ${agent_id})) as agent,
        (${project_id}::int is null or exists (select 1 from projects where id = ${project_id})) as project,
        case when ${soon} then set_config('synchronous_commit', 'off', true) end as how),
    held as (
      insert into memory_keys (key, id, store, pending_until)
      select ${key}, ${id}::uuid, ${store}, ${whilePending(sql)} from there where agent and project
      on conflict (key) do update set id = excluded.id, store = excluded.store, pending_until = excluded.pending_until, expires_at = null
      where memory_keys.expires_at <= now() returning key)
    select agent, project, exists (select 1 from held) as held from there`;
  return row;
}

/** What became of one memory of several that were stored with their keys. */
export interface Outcome {
  readonly id: string;
  /** Whether there is what it refers to. */
  readonly agent: boolean;
  readonly project: boolean;
  /** The key is its own; else somebody has it. */
  readonly held: boolean;
  readonly stored: boolean;
}

/**
 * Stores memories and takes their keys in one statement, where both are in this database: all of a memory or nothing. No two
 * may have the same key. `put`: the statement that stores them, behind so many parameters.
 */
export async function storeWithKeys(
  sql: Sql,
  all: readonly (Reservation & References)[],
  put: (parametersBefore: number) => SqlStatement,
): Promise<Outcome[]> {
  const values: Json[] = [];
  const add = (value: Json) => `$${values.push(value)}`;
  const rows = all.map(({ key, id, store, ttl_ms, agent_id, project_id }) => {
    const refers = `${add(agent_id)}::text, ${add(project_id)}::int`;
    return `(${add(key)}::text, ${add(id)}::uuid, ${add(store)}::text, ${add(ttl_ms)}::bigint, ${refers})`;
  });
  const stored = put(values.length);
  const text = `with given as materialized (
      select *, (agent_id is null or exists (select 1 from agents where agents.id = agent_id)) as agent,
        (project_id is null or exists (select 1 from projects where projects.id = project_id)) as project
      from (values ${rows.join(", ")}) given (key, id, store, ttl_ms, agent_id, project_id)),
    held as (
      insert into memory_keys (key, id, store, expires_at)
      select key, id, store, now() + ttl_ms * interval '1 millisecond' from given where agent and project order by key
      on conflict (key) do update set id = excluded.id, store = excluded.store, expires_at = excluded.expires_at, pending_until = null
      where memory_keys.expires_at <= now() returning id),
    stored as (${stored.text})
    select id, agent, project, id in (select id from held) as held, id in (select id from stored) as stored from given`;
  return [...(await sql.unsafe<Outcome[]>(text, [...values, ...stored.parameters] as never[], { prepare: true }))];
}

/** What can be known of a memory before it is stored: whether there is what it refers to, and whether somebody has its key. */
export async function lookAhead(
  sql: Queryable,
  key: string,
  { agent_id, project_id }: References,
): Promise<{ agent: boolean; project: boolean; held: boolean }> {
  const [row] = await sql<[{ agent: boolean; project: boolean; held: boolean }]>`
    select (${agent_id}::text is null or exists (select 1 from agents where id = ${agent_id})) as agent,
      (${project_id}::int is null or exists (select 1 from projects where id = ${project_id})) as project,
      exists (select 1 from memory_keys where key = ${key} and (expires_at is null or expires_at > now())) as held`;
  return row;
}

/** Takes a key over from a memory that is gone; `false` where somebody else was quicker. */
export async function takeKey(sql: Queryable, from: string, { key, id, store }: Reservation): Promise<boolean> {
  const rows = await sql`
    update memory_keys set id = ${id}, store = ${store}, pending_until = ${whilePending(sql)}, expires_at = null
    where key = ${key} and id = ${from} and (pending_until is null or pending_until <= now()) returning key`;
  return rows.length > 0;
}

export async function findKey(sql: Queryable, key: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`
    select key, id, store, coalesce(expires_at <= now(), false) as free, coalesce(pending_until > now(), false) as pending
    from memory_keys where key = ${key}`;
  return row;
}

/**
 * The memories are written: their keys are theirs until they end. Answers which still were. A confirmation that a crash of
 * the server takes away is as one that was never made: the next who asks for the key looks.
 */
export const confirmKeys = (sql: Queryable, all: readonly Pick<Reservation, "id" | "ttl_ms">[]): Promise<{ id: string }[]> =>
  sql<{ id: string }[]>`
    with how as materialized (select set_config('synchronous_commit', 'off', true) as how)
    update memory_keys k set pending_until = null, expires_at = now() + e.ttl_ms * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(all)}::text::jsonb) e (id uuid, ttl_ms bigint), how
    where k.id = e.id and how.how is not null returning k.id`;

/** Whether the memory was written is not known: the next who asks for the key looks. */
export const suspectKey = async (sql: Queryable, key: string, id: string): Promise<void> =>
  void (await sql`update memory_keys set pending_until = now() where key = ${key} and id = ${id}`);

export const releaseKey = async (sql: Queryable, key: string, id: string): Promise<void> =>
  void (await sql`delete from memory_keys where key = ${key} and id = ${id}`);

export async function sweepKeys(sql: Queryable): Promise<number> {
  const rows = await sql`
    delete from memory_keys where key in (select key from memory_keys where expires_at <= now() limit 1000 for update skip locked)`;
  return rows.count;
}

/** Whether anything is stored that a search could find: memories, and chunks of documents. */
export async function anythingStored(sql: Queryable): Promise<{ memories: boolean; chunks: boolean }> {
  const [row] = await sql<[{ memories: boolean; chunks: boolean }]>`
    select exists (select 1 from memory_keys) as memories, exists (select 1 from document_chunks) as chunks`;
  return row;
}

export interface EmbeddingSettings {
  readonly installation: string;
  readonly model: string | null;
  readonly dimension: number | null;
}

export async function findSettings(sql: Queryable): Promise<EmbeddingSettings> {
  const [row] = await sql<[EmbeddingSettings]>`select installation, model, dimension from embedding_settings`;
  return row;
}

/** Remembers the model of the vectors, unless another replica has said which one it is. */
export const adoptModel = async (sql: Queryable, model: string, dimension: number): Promise<void> =>
  void (await sql`update embedding_settings set model = ${model}, dimension = ${dimension} where model is null`);

/** Takes another model while nothing is stored; `false` where something is. The columns for vectors are made anew at the start. */
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

/** Takes a lease or keeps one's own; `false` while another replica has it. */
export async function holdLease(sql: Queryable, name: string, holder: string, seconds: number): Promise<boolean> {
  const rows = await sql`
    insert into memory_leases (name, holder, expires_at) values (${name}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
    where memory_leases.holder = ${holder} or memory_leases.expires_at <= now() returning name`;
  return rows.length > 0;
}

export const dropLease = async (sql: Queryable, name: string, holder: string): Promise<void> =>
  void (await sql`delete from memory_leases where name = ${name} and holder = ${holder}`);

/** A page of the keys that are held, in their order, with what is left of their lifetimes. */
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

/** Another model makes the vectors from now on: those there are go, all or none. Their columns are made anew at the next start. */
export const changeModel = async (sql: Sql, tables: readonly string[], model: string, dimension: number): Promise<void> =>
  void (await sql.begin(async (tx) => {
    for (const table of tables) await tx`alter table ${tx(table)} drop column if exists embedding`;
    await tx`update embedding_settings set model = ${model}, dimension = ${dimension}`;
  }));
