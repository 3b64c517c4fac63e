import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const inMemory = "/dev/shm";
/** With less space than this, in bytes, the concurrent tests may run out of it. */
const minFreeBytes = 4 * 2 ** 30;

/**
 * The folder for the data of services: in memory if the system has a folder there with enough space, because most tests copy a
 * database of 1,300 small files, which takes five times the processor time on a disk. `TMPDIR` chooses another folder.
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
