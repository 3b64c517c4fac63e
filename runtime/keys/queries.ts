import type { list } from "@signalbox/schema/keys";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

export type ApiKey = Output<typeof list>["items"][number];
export type KeyScope = ApiKey["scopes"][number];

const columns = (sql: Queryable) => sql`id, name, hint, scopes, created_at, last_used_at, revoked_at`;

export async function listKeys(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: ApiKey[]; total: number }> {
  const items = await sql<ApiKey[]>`select ${columns(sql)} from api_keys order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from api_keys`;
  return { items, total: count.total };
}

/** `undefined` where a key in use has the name. */
export async function insertKey(
  sql: Queryable,
  key: { name: string; key_hash: Buffer; hint: string; scopes: KeyScope[] },
): Promise<ApiKey | undefined> {
  const [row] = await sql<ApiKey[]>`
    insert into api_keys ${sql(key)} on conflict (name) where revoked_at is null do nothing returning ${columns(sql)}`;
  return row;
}

export async function revokeKey(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`update api_keys set revoked_at = now() where id = ${id} and revoked_at is null`).count > 0;
}

/** Every key that was ever made, as a check of requests needs it. */
export interface StoredKey {
  readonly id: number;
  readonly name: string;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
  readonly scopes: readonly KeyScope[];
  readonly revoked: boolean;
  readonly last_used_at: string | null;
}
export const allKeys = (sql: Queryable): Promise<StoredKey[]> =>
  sql<StoredKey[]>`
    select id, name, encode(key_hash, 'hex') as hash, scopes, revoked_at is not null as revoked, last_used_at from api_keys order by id`;

export async function markUsed(sql: Queryable, id: number): Promise<void> {
  await sql`update api_keys set last_used_at = now() where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
}
