import type { list } from "@signalbox/schema/keys";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

type ApiKey = Output<typeof list>["items"][number];
export type KeyScope = ApiKey["scopes"][number];

const columns = (sql: Queryable) =>
  sql`id, name, hint, scopes, agent_ids, projects, expires_at, created_at, last_used_at, revoked_at`;

export async function listKeys(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: ApiKey[]; total: number }> {
  const items = await sql<ApiKey[]>`select ${columns(sql)} from api_keys order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from api_keys`;
  return { items, total: count.total };
}

/** `undefined` if a key in use has this name. */
export async function insertKey(
  sql: Queryable,
  key: {
    name: string;
    key_hash: Buffer;
    hint: string;
    scopes: KeyScope[];
    agent_ids: string[] | null;
    projects: number[] | null;
    expires_at: string | null;
  },
): Promise<ApiKey | undefined> {
  const [row] = await sql<ApiKey[]>`
    insert into api_keys ${sql(key)} on conflict (name) where revoked_at is null do nothing returning ${columns(sql)}`;
  return row;
}

export async function revokeKey(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`update api_keys set revoked_at = now() where id = ${id} and revoked_at is null`).count > 0;
}

/** The first of these agents that does not exist. */
export async function findAbsentAgent(sql: Queryable, ids: readonly string[]): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from unnest(${ids as string[]}::text[]) with ordinality given (id, n)
    where not exists (select 1 from agents a where a.id = given.id) order by n limit 1`;
  return row?.id;
}

/** The first of these projects that does not exist. */
export async function findAbsentProject(sql: Queryable, ids: readonly number[]): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    select id from unnest(${ids as number[]}::bigint[]) with ordinality given (id, n)
    where not exists (select 1 from projects p where p.id = given.id) order by n limit 1`;
  return row?.id;
}

/** `null` if the execution does not exist or belongs to no project. */
export async function projectOfExecution(sql: Queryable, id: string): Promise<number | null> {
  const [row] = await sql<{ project_id: number | null }[]>`select project_id from task_executions where id = ${id}`;
  return row?.project_id ?? null;
}

/** The members of a key that the check of a request needs. */
export interface StoredKey {
  readonly id: number;
  readonly name: string;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
  readonly scopes: readonly KeyScope[];
  readonly agent_ids: readonly string[] | null;
  readonly projects: readonly number[] | null;
  readonly expires_at: string | null;
  readonly revoked: boolean;
  readonly last_used_at: string | null;
}
/** All keys that were ever created, including revoked ones. */
export const allKeys = (sql: Queryable): Promise<StoredKey[]> =>
  sql<StoredKey[]>`
    select id, name, encode(key_hash, 'hex') as hash, scopes, agent_ids, projects, expires_at, revoked_at is not null as revoked, last_used_at from api_keys order by id`;

export async function markUsed(sql: Queryable, id: number): Promise<void> {
  await sql`update api_keys set last_used_at = now() where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
}

interface StoredSession {
  /** SHA-256 of the API key, in hexadecimal. */
  readonly key_hash: string;
  readonly expires_at: string;
}

/** Also removes expired sessions, because logins are rare. */
export async function insertSession(
  sql: Queryable,
  session: { token_hash: Buffer; key_hash: Buffer; expires_at: string },
): Promise<void> {
  await sql`with expired as (delete from console_sessions where expires_at <= now()) insert into console_sessions ${sql(session)}`;
}

export async function findSession(sql: Queryable, tokenHash: Buffer): Promise<StoredSession | undefined> {
  const [row] = await sql<StoredSession[]>`
    select encode(key_hash, 'hex') as key_hash, expires_at from console_sessions where token_hash = ${tokenHash} and expires_at > now()`;
  return row;
}

export async function deleteSession(sql: Queryable, tokenHash: Buffer): Promise<void> {
  await sql`delete from console_sessions where token_hash = ${tokenHash}`;
}
