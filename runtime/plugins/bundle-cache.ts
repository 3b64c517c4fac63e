import { createHash, randomUUID } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/**
 * The path of a file that holds these bytes. A copy of what the database or a folder holds, named by its digest and
 * compared with it at each start: what was changed meanwhile is written anew.
 */
export function cachedBundle(bytes: Uint8Array): { readonly file: string; readonly sha256: string } {
  const sha256 = sha256Of(bytes);
  const file = join(cacheFolder(), `${sha256}.mjs`);
  if (digestOf(file) !== sha256) {
    const fresh = `${file}.${randomUUID()}`;
    writeFileSync(fresh, bytes, { flag: "wx", mode: 0o444 });
    renameSync(fresh, file);
  }
  return { file, sha256 };
}

/** Ours alone to write, for everybody to read: a plugin's process may run as another user. */
function cacheFolder(): string {
  const user = process.getuid?.() ?? "user";
  const folder = join(tmpdir(), `signalbox-plugins-${user}`);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const { uid } = lstatSync(folder);
  if (!lstatSync(folder).isDirectory() || (process.getuid && uid !== process.getuid()))
    throw new Error(`${folder} is not this user's own folder; remove it`);
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
