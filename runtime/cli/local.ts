import { resolve } from "node:path";
import type { Operation } from "@signalbox/schema/operation";
import { offlineKeyOperations } from "../keys/offline.ts";
import { readConfig } from "../platform/config.ts";
import type { Database } from "../platform/database/client.ts";
import { hasDatabase, isEmptyFolder } from "../platform/database/embedded.ts";
import { FolderInUse } from "../platform/database/folder-claim.ts";
import { migrate } from "../platform/database/migrate.ts";
import { openDatabase } from "../platform/database/open.ts";
import { createLog, type Log } from "../platform/log.ts";
import { invoke } from "../platform/operation.ts";
import { type Answer, RequestError } from "./request.ts";

/** A user who can open the database may run every operation on it. */
const operator = { kind: "key", name: "command line", scopes: ["read", "write", "admin"] } as const;

/** Runs an operation on keys directly on the database. */
export const runOnKeys = (
  op: Operation,
  input: Record<string, unknown>,
  { create, write }: { readonly create: boolean; readonly write: (text: string) => void },
): Promise<Answer> => {
  const inUse =
    "Or send this command to that service: add --remote, and set SIGNALBOX_URL to its URL and SIGNALBOX_API_KEY to a key with the admin scope.";
  // The other operations have nothing to read or change in a new database.
  const ifMissing = create ? "create" : { remedy: addCreate, createsInEmpty: op.id === "keys.create" };
  return onDatabase({ write, inUse, ifMissing }, async (database, log) => {
    await migrate(database, log);
    const bound = offlineKeyOperations((error) => log.error("failed to record a change in the audit log", { error })).find(
      (one) => one.op === op,
    );
    if (!bound) throw new Error(`${op.id} is not an operation on API keys`);
    const context = { sql: database.sql, log, actor: operator, signal: new AbortController().signal };
    const value = await invoke(bound, input, context);
    if (op.status === 204) return { value: undefined, total: null };
    if (!op.paginated) return { value, total: null };
    const { items, total } = value as { items: unknown[]; total: number };
    return { value: items, total: String(total) };
  });
};

/** Applies the missing migrations and returns their number. */
export const runMigrate = (create: boolean, write: (text: string) => void): Promise<number> => {
  const ifMissing = create ? "create" : { remedy: addCreate, createsInEmpty: true };
  return onDatabase({ write, inUse: "It applied all migrations when it started.", ifMissing }, migrate);
};

const addCreate = "To create a new database there, add --create.";

export interface LocalOptions {
  readonly write: (text: string) => void;
  /** What to do if a service uses the embedded database. */
  readonly inUse: string;
  /**
   * If there is no embedded database: `create` creates it; otherwise the command fails, because it was probably run in the wrong
   * folder. A key in a new database would be useless, and an export of it empty. `createsInEmpty`: an empty `DATA_DIR` that exists
   * was made for a new database, so the command creates it there.
   */
  readonly ifMissing: "create" | { readonly remedy: string; readonly createsInEmpty?: boolean };
}

/** Opens the configured database for one command. */
export async function onDatabase<T>(
  { write, inUse, ifMissing }: LocalOptions,
  run: (database: Database, log: Log) => Promise<T>,
): Promise<T> {
  const config = readConfig();
  const { DATABASE_URL, DATA_DIR } = config;
  const isNew = !DATABASE_URL && !hasDatabase(DATA_DIR);
  if (isNew && ifMissing !== "create" && !(ifMissing.createsInEmpty && isEmptyFolder(DATA_DIR)))
    throw new RequestError(
      `There is no database in ${resolve(DATA_DIR)}. Run this in the service's folder, or set DATA_DIR or DATABASE_URL to the value that the service uses. ${ifMissing.remedy}`.trim(),
    );
  const log = createLog({ pretty: true, write: (line) => write(`${line}\n`) });
  let database: Database;
  try {
    database = await openDatabase(config, { ...log, info: () => {} });
  } catch (error) {
    throw error instanceof FolderInUse ? new RequestError(`${error.message} ${inUse}`) : error;
  }
  try {
    return await run(database, log);
  } finally {
    await database.close();
  }
}
