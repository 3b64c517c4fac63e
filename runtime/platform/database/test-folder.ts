import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Log } from "../log.ts";
import { connectEmbedded } from "./client.ts";
import { openEmbedded } from "./embedded.ts";
import { migrate } from "./migrate.ts";

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cache = fileOf("../../../node_modules/.cache/signalbox");
const migrations = fileOf("../../../migrations");
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };
/** A process that holds the lock for longer than this has died. */
const lockMs = 120_000;

const inMemory = "/dev/shm";
/** With less space than this, in bytes, the concurrent tests may run out of it. */
const minFreeBytes = 4 * 2 ** 30;

/**
 * The folder for the data of tests: in memory if the system has a folder there with enough space, because copying a database of
 * 1,300 small files takes five times the processor time on a disk. `TMPDIR` chooses another folder.
 */
export function folderInMemory(): string {
  if (process.env.TMPDIR) return tmpdir();
  try {
    accessSync(inMemory, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize >= minFreeBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * The content that `copyCluster` copies: `empty`, a cluster as the first start creates it, or `migrated`, with all migrations
 * applied.
 */
type State = "empty" | "migrated";

/**
 * Fills `folder`, which must not exist yet, with a database cluster. Creating a cluster takes seconds, but copying one does not,
 * so each is created once for all tests and kept for later runs. All copies of `migrated` have the same installation id, which is
 * part of their keys in Redis: a service that shares a Redis with other tests must use `empty`.
 */
export async function copyCluster(folder: string, state: State = "migrated"): Promise<void> {
  const made = join(cache, `cluster-${state}-${schemaVersion()}`);
  while (!existsSync(made)) {
    if (takeLock(`${made}.lock`)) await make(made, state);
    else await sleep(100);
  }
  // The command needs a quarter of the processor time of Node's function, and the trackers and models of other tests continue to
  // respond from this process.
  await promisify(execFile)("cp", ["-R", made, folder]);
}

/** Changes with PGlite and with the migrations. */
export function schemaVersion(): string {
  const file = fileURLToPath(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")));
  const hash = createHash("sha256").update(readFileSync(file));
  for (const name of readdirSync(migrations).sort()) hash.update(name).update(readFileSync(join(migrations, name)));
  return hash.digest("hex").slice(0, 12);
}

/** One of the concurrent test workers creates it, and the others wait. */
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

async function make(made: string, state: State): Promise<void> {
  const making = `${made}.${process.pid}`;
  try {
    if (existsSync(made)) return;
    const database = connectEmbedded(await openEmbedded(making));
    if (state === "migrated") await migrate(database, noLog);
    await database.close();
    renameSync(making, made);
  } finally {
    rmSync(making, { recursive: true, force: true });
    rmSync(`${made}.lock`, { recursive: true, force: true });
  }
}
