import { randomUUID } from "node:crypto";
import { chmodSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256Of } from "../platform/digest.ts";
import { makeFolder } from "../platform/make-folder.ts";

/** The path of a copy of this bundle. */
export const cachedBundle = (bytes: Uint8Array): { readonly file: string; readonly sha256: string } => cachedFile(bytes, ".mjs");

/**
 * The path of a file with these bytes, named by their digest. The file is compared at each start, and written again if it
 * differs.
 */
export function cachedFile(bytes: Uint8Array, ending: string): { readonly file: string; readonly sha256: string } {
  const sha256 = sha256Of(bytes);
  const file = join(cacheFolder(), `${sha256}${ending}`);
  if (digestOf(file) !== sha256) {
    const fresh = `${file}.${randomUUID()}`;
    try {
      writeFileSync(fresh, bytes, { flag: "wx" });
      // Does not use `mode`, because a service with the embedded database has a umask that would prevent the plugin's own user from
      // reading the file.
      chmodSync(fresh, 0o444);
      renameSync(fresh, file);
    } catch (error) {
      // A part of the file would stay on a full disk, and each start of the plugin would add one.
      rmSync(fresh, { force: true });
      throw error;
    }
  } else chmodSync(file, 0o444);
  return { file, sha256 };
}

/** Only this user may write it; everyone may read it, because a plugin's process may run as another user. */
function cacheFolder(): string {
  const user = process.getuid?.() ?? "user";
  const folder = join(tmpdir(), `signalbox-plugins-${user}`);
  makeFolder(folder, 0o755);
  const { uid } = lstatSync(folder);
  if (!lstatSync(folder).isDirectory() || (process.getuid && uid !== process.getuid()))
    throw new Error(`${folder} belongs to another user; remove it`);
  chmodSync(folder, 0o755);
  return folder;
}

function digestOf(file: string): string | null {
  try {
    return lstatSync(file).isFile() ? sha256Of(readFileSync(file)) : null;
  } catch {
    return null;
  }
}
