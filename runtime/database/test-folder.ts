import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Log } from "../log.ts";
import { connectEmbedded } from "./client.ts";
import { openEmbedded } from "./embedded.ts";
import { migrate, readMigrations } from "./migrate.ts";

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cache = fileOf("../../node_modules/.cache/signalbox");
/** Whoever has held the lock for longer than this has died. */
const lockMs = 120_000;
const silent: Log = { info() {}, warn() {}, error() {}, with: () => silent };

/**
 * Makes of `folder`, which must not be there yet, what a first start makes of it: the embedded database with all migrations.
 * Making one takes both cores for seconds, copying one does not: it is made once for all tests, and kept for later runs.
 */
export async function copyMigrated(folder: string): Promise<void> {
  const made = join(cache, `migrated-${fingerprint()}`);
  while (!existsSync(made)) {
    if (takeLock(`${made}.lock`)) await make(made);
    else await sleep(100);
  }
  cpSync(made, folder, { recursive: true });
}

/** Of what it is made from. */
function fingerprint(): string {
  const pglite = fileURLToPath(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")));
  const migrations = readMigrations(fileOf("../../migrations"));
  const text = JSON.stringify([JSON.parse(readFileSync(pglite, "utf8")).version, migrations]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Of test workers that begin at the same time one makes it, and the others wait. */
function takeLock(lock: string): boolean {
  mkdirSync(cache, { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > lockMs) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

async function make(made: string): Promise<void> {
  const making = `${made}.${process.pid}`;
  try {
    if (existsSync(made)) return;
    const database = connectEmbedded(await openEmbedded(making));
    await migrate(database, silent);
    await database.close();
    renameSync(making, made);
  } finally {
    rmSync(making, { recursive: true, force: true });
    rmSync(`${made}.lock`, { recursive: true, force: true });
  }
}
