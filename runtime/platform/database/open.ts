import { randomInt } from "node:crypto";
import { resolve } from "node:path";
import { type Config, ConfigError, StartError } from "../config.ts";
import { messageOf } from "../error-text.ts";
import type { Log } from "../log.ts";
import { connectEmbedded, connectPostgres, type Database } from "./client.ts";
import { hasDatabase, openEmbedded } from "./embedded.ts";
import { isRefusal } from "./unavailable.ts";

const anyPooler =
  "DATABASE_URL points to a pooler. If the pooler is in transaction mode, set DIRECT_DATABASE_URL to the URL of the database itself.";
const transactionMode =
  "it is a pooler in transaction mode, so statements can fail and replicas can miss each other's changes: set DIRECT_DATABASE_URL to the URL of the database itself";

/**
 * Opens the PostgreSQL at `DATABASE_URL`, or else the embedded database in `DATA_DIR`. Throws a `StartError` if it is not
 * available.
 */
export async function openDatabase(
  config: Pick<Config, "DATABASE_URL" | "DIRECT_DATABASE_URL" | "DATA_DIR">,
  log: Log,
): Promise<Database> {
  if (config.DIRECT_DATABASE_URL && !config.DATABASE_URL)
    throw new ConfigError(
      "DIRECT_DATABASE_URL: requires DATABASE_URL. Set DATABASE_URL, or unset it to use the embedded database.",
    );
  if (config.DATABASE_URL) {
    const database = connectPostgres(config.DATABASE_URL, { max: 20, direct: config.DIRECT_DATABASE_URL });
    try {
      if (config.DIRECT_DATABASE_URL)
        await requireSameDatabase(database, { pooled: config.DATABASE_URL, direct: config.DIRECT_DATABASE_URL });
      else if (await isPooled(database)) {
        const changes = await changesSessions(database);
        log.warn(changes ? `DATABASE_URL: ${transactionMode}` : anyPooler);
        return { ...database, keepsSessions: false, ...(changes && { limitation: transactionMode }) };
      }
    } catch (error) {
      await database.close();
      throw error instanceof StartError ? error : noAnswer("DATABASE_URL", error);
    }
    return database;
  }
  const folder = resolve(config.DATA_DIR);
  log.info("embedded database: survives a crash of this process, but not a power failure; set DATABASE_URL for production", {
    folder,
  });
  if (!hasDatabase(folder)) log.info("creating a new database, because there is none in the folder", { folder });
  return connectEmbedded(await openEmbedded(config.DATA_DIR));
}

const noAnswer = (variable: string, error: unknown): StartError =>
  new StartError(
    `${variable}: the database ${isRefusal(error) ? "refuses connections" : "does not answer"}: ${messageOf(error)}`,
    {
      cause: error,
    },
  );

/**
 * Throws a `StartError` if the two URLs reach different databases: the migrations would change the wrong one, and replicas would not
 * hear of each other's changes. A lock that one session holds is visible to the other only in the same database, whatever names
 * a pooler gives it.
 */
async function requireSameDatabase(
  { sql, longRunning }: Database,
  { pooled, direct }: { readonly pooled: string; readonly direct: string },
): Promise<void> {
  // Between the keys in `advisory-lock.ts` and the hashes of 64 bits.
  const lock = 2 ** 32 + randomInt(2 ** 40);
  await sql.begin(async (transaction) => {
    const [one] = await transaction<[{ name: string }]>`select current_database() as name, pg_advisory_xact_lock(${lock})`;
    const [other] = await longRunning<[{ name: string; free: boolean }]>`
      select current_database() as name, pg_try_advisory_xact_lock(${lock}) as free`.catch((error) => {
      throw noAnswer("DIRECT_DATABASE_URL", error);
    });
    if (!other.free) return;
    const nameOf = (name: string, url: string) => `the database ${JSON.stringify(name)} at ${new URL(url).host}`;
    throw new StartError(
      `DIRECT_DATABASE_URL: must be the database of DATABASE_URL, without its pooler; it is ${nameOf(other.name, direct)}, and DATABASE_URL is ${nameOf(one.name, pooled)}`,
    );
  });
}

/** Settings that the statements are written for, and what may happen with another value. */
const needed = [
  ["default_transaction_isolation", "read committed", "another isolation than read committed, so concurrent runs may fail"],
  ["lock_timeout", "0", "a lock_timeout, so statements that wait for each other may fail"],
  ["array_nulls", "on", "array_nulls turned off, so lists may be stored with wrong values"],
] as const;

/**
 * Warns if the pool's sessions do not have the settings that the statements are written for. Sessions set them themselves, except
 * those of a pooler in transaction mode.
 */
export async function warnOfSettings({ sql }: Database, log: Log): Promise<void> {
  const names = needed.map(([name]) => name);
  const rows = await sql<{ name: string; value: string }[]>`
    select name, current_setting(name) as value from unnest(${names}::text[]) name`;
  for (const [name, wanted, fault] of needed) {
    const value = rows.find((row) => row.name === name)?.value;
    if (value === wanted) continue;
    const change = `ALTER ROLE … SET ${name} = ${wanted.includes(" ") ? `'${wanted}'` : wanted}`;
    log.warn(`the sessions of the pooler have ${fault}. Run: ${change}`, { [name]: value });
  }
}

/** Whether the connection is through a pooler: its process id differs from that of the server. */
async function isPooled({ sql }: Database): Promise<boolean> {
  const rows = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  const { state } = rows as unknown as { readonly state?: { readonly pid?: number } };
  return state?.pid !== undefined && state.pid !== rows[0].pid;
}

/**
 * Whether the pooler assigns sessions of the server by transaction: one connection gets several of them, or two open connections get
 * the same one.
 */
async function changesSessions({ sql }: Database): Promise<boolean> {
  const connections = await Promise.all([sql.reserve(), sql.reserve()]);
  const pids = connections.map(() => new Set<number>());
  try {
    for (let round = 0; round < 4; round++)
      for (const [index, connection] of connections.entries()) {
        // A prepared statement may be missing in the next session.
        const [row] = await connection<[{ pid: number }]>`select pg_backend_pid() as pid`.simple();
        pids[index]?.add(row.pid);
      }
  } finally {
    for (const connection of connections) connection.release();
  }
  return new Set(pids.flatMap((some) => [...some])).size !== connections.length || pids.some(({ size }) => size !== 1);
}
