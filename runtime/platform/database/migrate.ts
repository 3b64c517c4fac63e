import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Log } from "../log.ts";
import type { Database } from "./client.ts";

/** Any number will do, as long as every replica takes the same one. */
const lock = 7_160_413;

interface Migration {
  readonly id: number;
  readonly name: string;
  readonly text: string;
}

/** Applies what is missing, in order, each file in a transaction of its own. Replicas that start together take turns. */
export async function migrate(database: Database, log: Log, folder = findFolder()): Promise<number> {
  const all = readMigrations(folder);
  const connection = await database.longRunning.reserve();
  try {
    await connection`select pg_advisory_lock(${lock})`;
    await connection`create table if not exists migrations (id integer primary key, name text not null, applied_at timestamptz(3) not null default now())`;
    const known = await connection<{ id: number; name: string }[]>`select id, name from migrations`;
    const newest = Math.max(0, ...known.map((row) => row.id));
    const ours = all.at(-1)?.id ?? 0;
    if (newest > ours) {
      throw new Error(
        `The database is at migration ${newest}, this version of Signalbox knows ${ours}. Run the newer version, or restore a backup.`,
      );
    }
    const missing = all.filter((migration) => !known.some((row) => row.id === migration.id));
    for (const { id, name, text } of missing) {
      await connection.unsafe(`begin; ${text}; insert into migrations (id, name) values (${id}, '${name}'); commit`).simple();
      log.info("migration applied", { migration: name });
    }
    return missing.length;
  } catch (error) {
    await connection`rollback`.catch(() => {});
    throw error;
  } finally {
    await connection`select pg_advisory_unlock(${lock})`.catch(() => {});
    connection.release();
  }
}

function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({ id: Number(file.slice(0, 4)), name: file.slice(0, -4), text: readFileSync(`${folder}/${file}`, "utf8") }));
}

/**
 * `migrations/` stands beside the bundle where it is published, and beside `runtime/` in the sources. Looked for in this
 * order: folders above an installed bundle is the project that uses it, which may have migrations of its own.
 */
function findFolder(): string {
  for (const place of ["./migrations", "../../../migrations"]) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    try {
      if (readMigrations(folder).length > 0) return folder;
    } catch {
      // not here
    }
  }
  throw new Error("The migrations folder is missing beside the program.");
}
