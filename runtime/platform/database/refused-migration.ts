import { StartError } from "../config.ts";
import type { Database, Sql } from "./client.ts";
import { isReadOnly } from "./unavailable.ts";

interface Place {
  readonly role: string;
  readonly name: string;
  readonly path: string;
  readonly isStandby: boolean;
}

/**
 * For a migration that the database refuses until its administrator acts: a `StartError` that says what to do. Other errors are
 * returned as they are.
 */
export async function explainRefusal(error: unknown, { sql, kind }: Database): Promise<unknown> {
  if (kind === "embedded" || !(error instanceof Error) || error instanceof StartError || !("code" in error)) return error;
  const explain = explanationOf(error, String(error.code));
  if (!explain) return error;
  try {
    const [place] = await sql<[Place]>`
      select current_user as role, current_database() as name, current_setting('search_path') as path,
        pg_is_in_recovery() as "isStandby"`;
    return new StartError(`DATABASE_URL: ${explain(place)}`, { cause: error });
  } catch {
    return error;
  }
}

/** SQLSTATEs of an extension that is missing on the server: undefined_file and feature_not_supported. */
const missingExtension = new Set(["58P01", "0A000"]);

function explanationOf(error: Error, code: string): ((place: Place) => string) | null {
  const { message } = error;
  const isVector = /\bvector\b/.test(message);
  if (isReadOnly(error))
    return ({ role, name, isStandby }) =>
      isStandby
        ? `the database is a standby, so it is read-only (${message}). Set DATABASE_URL to the primary server.`
        : `the database is read-only (${message}). If its disk is not full, run: ALTER ROLE "${role}" RESET default_transaction_read_only; ALTER DATABASE "${name}" RESET default_transaction_read_only`;
  if (isVector && code === "42501")
    return ({ name }) =>
      `the role may not install pgvector (${message}). As a superuser, run in the database "${name}": CREATE EXTENSION vector`;
  if (isVector && missingExtension.has(code))
    return () => `the server does not have pgvector (${message}). Install pgvector on the database server.`;
  if (code === "42501")
    return ({ role, name }) =>
      `the role "${role}" may not change the database (${message}). Use the role that owns its tables, or, if the database is new, run as a superuser: ALTER DATABASE "${name}" OWNER TO "${role}"`;
  if (code === "3F000")
    return ({ role, path }) =>
      `no schema of the search_path ${JSON.stringify(path)} exists (${message}). Create the schema, or run: ALTER ROLE "${role}" SET search_path = public`;
  return null;
}

/**
 * Throws a `StartError` if the database is not in UTF8. Other encodings do not have all characters; `SQL_ASCII` cuts them apart. An
 * earlier version accepted `SQL_ASCII`, so only a new database is refused for it.
 */
export async function requireUnicode(connection: Awaited<ReturnType<Sql["reserve"]>>, { isNew }: { readonly isNew: boolean }) {
  const [{ name, encoding }] = await connection<[{ name: string; encoding: string }]>`
    select current_database() as name, current_setting('server_encoding') as encoding`;
  if (encoding === "UTF8" || (encoding === "SQL_ASCII" && !isNew)) return;
  throw new StartError(
    `DATABASE_URL: the encoding of the database must be UTF8; it is ${encoding}. Use another database, for example: CREATE DATABASE "${name}_utf8" ENCODING 'UTF8' TEMPLATE template0`,
  );
}
