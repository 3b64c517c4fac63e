import type { Queryable } from "../platform/database/client.ts";

export interface StoredSession {
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
