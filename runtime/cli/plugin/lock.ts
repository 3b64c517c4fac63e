import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { messageOf } from "../../platform/error-text.ts";
import type { FetchedPackage } from "./fetch-package.ts";
import { PackageError } from "./package-error.ts";

/** A file in the working folder that lists the installed plugins. Keep it in version control. */
export const lockFile = "signalbox-plugins.lock.json";

const entry = z.strictObject({
  version: z.string(),
  /** The specification to fetch it with: a package with its version, or a path. */
  source: z.string(),
  integrity: z.string().nullable(),
  sha256: z.string(),
});
const shape = z.strictObject({ lock: z.literal(1), plugins: z.record(z.string(), entry) });
type Lock = z.output<typeof shape>;

export function readLock(): Lock {
  if (!existsSync(lockFile)) return { lock: 1, plugins: {} };
  try {
    return shape.parse(JSON.parse(readFileSync(lockFile, "utf8")));
  } catch (error) {
    throw new PackageError("BAD_MANIFEST", `${lockFile} is not a valid lock file: ${messageOf(error)}`);
  }
}

/** On a full disk, the file that exists stays as it is. */
function write(lock: Lock): void {
  const plugins = Object.fromEntries(Object.entries(lock.plugins).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify({ ...lock, plugins }, null, 2)}\n`;
  const path = existsSync(lockFile) ? realpathSync(lockFile) : lockFile;
  const fresh = `${path}.${process.pid}`;
  try {
    writeFileSync(fresh, text);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    const failure = code === "ENOSPC" || code === "EDQUOT" ? error : writeInPlace(path, text);
    if (failure === null) return;
    throw new PackageError(
      "NOT_LOCKED",
      `The change was made in the service, but ${lockFile} could not be written: ${messageOf(failure)}. Correct that, and run the command again.`,
    );
  }
}

/** In a read-only folder, or if the file is a mount, the file itself may be writable. */
function writeInPlace(path: string, text: string): unknown {
  try {
    writeFileSync(path, text);
    return null;
  } catch (error) {
    return error;
  }
}

/** Refuses a version whose contents differ from those of the last install, even if its origin is the same. */
export function checkLocked({ manifest, integrity }: FetchedPackage): void {
  const lockedVersion = readLock().plugins[manifest.id];
  if (!lockedVersion || lockedVersion.version !== manifest.version) return;
  if (lockedVersion.sha256 !== manifest.bundle.sha256)
    throw new PackageError(
      "INTEGRITY",
      `The SHA-256 of ${manifest.id} ${manifest.version} must be ${lockedVersion.sha256}, as ${lockFile} says; it is ${manifest.bundle.sha256}.`,
    );
  if (lockedVersion.integrity !== null && integrity !== null && lockedVersion.integrity !== integrity)
    throw new PackageError(
      "INTEGRITY",
      `The integrity of ${manifest.id} ${manifest.version} must be ${lockedVersion.integrity}, as ${lockFile} says; it is ${integrity}.`,
    );
}

export function saveLocked({ manifest, integrity, source }: FetchedPackage): void {
  const lock = readLock();
  lock.plugins[manifest.id] = { version: manifest.version, source, integrity, sha256: manifest.bundle.sha256 };
  write(lock);
}

/** Returns whether the plugin was listed. */
export function removeLocked(id: string): boolean {
  const lock = readLock();
  if (!Object.hasOwn(lock.plugins, id)) return false;
  delete lock.plugins[id];
  write(lock);
  return true;
}
