import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openEmbedded } from "./embedded.ts";

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cache = fileOf("../../node_modules/.cache/signalbox");
/** Whoever has held the lock for longer than this has died. */
const lockMs = 120_000;

/**
 * Makes of `folder`, which must not be there yet, what a first start begins with: an empty cluster. Making one takes both
 * cores for seconds, copying one does not: it is made once for all tests, and kept for later runs. It has no migrations:
 * they give each installation an identity of its own.
 */
export async function copyCluster(folder: string): Promise<void> {
  const made = join(cache, `cluster-${versionOfPglite()}`);
  while (!existsSync(made)) {
    if (takeLock(`${made}.lock`)) await make(made);
    else await sleep(100);
  }
  cpSync(made, folder, { recursive: true });
}

function versionOfPglite(): string {
  const file = fileURLToPath(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")));
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
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
    await (await openEmbedded(making)).close();
    renameSync(making, made);
  } finally {
    rmSync(making, { recursive: true, force: true });
    rmSync(`${made}.lock`, { recursive: true, force: true });
  }
}
