import { readFileSync, statSync } from "node:fs";

/**
 * Reads a file that a setting names. Throws an Error if it is something else: the start would wait for a writer of a pipe for ever,
 * and a device may have no end.
 */
export function readRegularFile(path: string): Buffer {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === false)
    throw new Error(`must name a regular file; ${path} is ${found.isDirectory() ? "a folder" : "a pipe or a device"}`);
  return readFileSync(path);
}
