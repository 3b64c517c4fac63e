import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StartError } from "../config.ts";
import { sha256Of } from "../digest.ts";
import type { Log } from "../log.ts";
import { lockKeys, underAdvisoryLock } from "./advisory-lock.ts";
import { type Database, isDeadlock, isLockTimeout, type Sql } from "./client.ts";
import { buildIndexesAhead } from "./indexes-ahead.ts";
import { explainRefusal, requireUnicode } from "./refused-migration.ts";

/** Maximum wait of a migration for one lock, in milliseconds. */
const lockMs = 500;
/** After this time, in milliseconds, a migration waits for its locks without limit. */
const boundedWaitsMs = 60_000;
const maxDeadlocks = 20;

interface Migration {
  readonly id: number;
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, in hexadecimal. It is stored when the migration is applied. */
  readonly digest: string;
}

/** Applies missing migrations in order, each file in its own transaction. Replicas that start together take turns. */
export async function migrate(database: Database, log: Log, folder = findFolder()): Promise<number> {
  const all = readMigrations(folder);
  const migrated = underAdvisoryLock(database, lockKeys.migrations, async (connection) => {
    await connection`create table if not exists migrations (id integer primary key, name text not null, applied_at timestamptz(3) not null default now())`;
    await connection`alter table migrations add column if not exists digest text`;
    const known = await connection<Applied[]>`select id, name, digest from migrations order by id`;
    const newest = Math.max(0, ...known.map((row) => row.id));
    const ours = all.at(-1)?.id ?? 0;
    if (newest > ours) {
      throw new StartError(
        `The database is at migration ${newest}, but this version of Signalbox knows only ${ours}. Start the newer version, or restore a backup from before the upgrade.`,
      );
    }
    requireSameText(known, all);
    for (const { id, digest } of all)
      if (known.some((row) => row.id === id && row.digest === null))
        await connection`update migrations set digest = ${digest} where id = ${id}`;
    const missing = all.filter((migration) => !known.some((row) => row.id === migration.id));
    if (missing.length > 0) await requireUnicode(connection, { isNew: known.length === 0 });
    for (const migration of missing) {
      // On the embedded database, no other replica has to wait.
      const text = database.kind === "postgres" ? await buildIndexesAhead(connection, migration.text, log) : migration.text;
      await apply(connection, { ...migration, text }, log);
      // A new database has no history that a list of its migrations could explain.
      if (known.length > 0) log.info("migration applied", { migration: migration.name });
    }
    if (known.length === 0) log.info("new database created", { migrations: missing.length });
    return missing.length;
  });
  return migrated.catch(async (error) => {
    throw await explainRefusal(error, database);
  });
}

/**
 * Applies one migration while other replicas continue to run. Their statements on a table queue behind a migration that waits for
 * its lock, so it waits only briefly and then tries again.
 */
async function apply(
  connection: Awaited<ReturnType<Sql["reserve"]>>,
  { id, name, text, digest }: Migration,
  log: Log,
): Promise<void> {
  const unboundedAt = performance.now() + boundedWaitsMs;
  for (let tries = 1; ; tries++) {
    const lockTimeoutMs = performance.now() < unboundedAt ? lockMs : 0;
    try {
      await connection
        .unsafe(
          `begin; set local lock_timeout = ${lockTimeoutMs}; ${text}; insert into migrations (id, name, digest) values (${id}, '${name}', '${digest}'); commit`,
        )
        .simple();
      return;
    } catch (error) {
      await connection`rollback`.catch(() => {});
      if (!isLockTimeout(error) && !(isDeadlock(error) && tries < maxDeadlocks)) throw error;
      const message = "migration postponed: other sessions use its tables, for example replicas or a backup; it is tried again";
      log.warn(message, { migration: name, tries, longest_transaction: await longestTransaction(connection) });
      await sleep(lockMs * Math.random());
    }
  }
}

/** The session that most likely holds the lock, for the operator; `null` if there is none. */
async function longestTransaction(connection: Awaited<ReturnType<Sql["reserve"]>>): Promise<object | null> {
  const [row] = await connection`
    select pid, application_name as application, extract(epoch from now() - xact_start)::integer as seconds
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    order by xact_start limit 1`.catch(() => []);
  return row ?? null;
}

interface Applied {
  readonly id: number;
  readonly name: string;
  /** null: applied by a version that stored no digests. */
  readonly digest: string | null;
}

/** Throws if a migration was edited after it was applied, because databases would then differ. */
function requireSameText(known: readonly Applied[], all: readonly Migration[]): void {
  const edited = known.filter(
    (row) => row.digest !== null && all.some(({ id, digest }) => id === row.id && digest !== row.digest),
  );
  if (edited.length === 0) return;
  const names = edited.map(({ name }) => name).join(", ");
  throw new StartError(
    `The database was migrated with a different text of ${names} than the one in this version. Migrations must not be edited once they are applied: restore the files of the release, or start the version that migrated this database.`,
  );
}

function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(`${folder}/${file}`, "utf8");
      const digest = sha256Of(text);
      return { id: Number(file.slice(0, 4)), name: file.slice(0, -4), text, digest };
    });
}

/**
 * `migrations/` is next to the bundle in a published package, and next to `runtime/` in the sources. The order matters: the
 * folder above an installed bundle is the project that uses it, which may have its own migrations.
 */
export function findFolder(): string {
  for (const place of ["./migrations", "../../../migrations"]) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    try {
      if (readMigrations(folder).length > 0) return folder;
    } catch {
      // not in this folder
    }
  }
  throw new Error("The migrations folder is missing next to the program.");
}
