import { readdirSync, readFileSync } from "node:fs";

// As the kernel tells of them, in /proc.

/** What it tells of a process, from its state on; `[]` where there is none. */
const statOf = (pid: string): string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  } catch {
    return [];
  }
};

/** Ids of the processes that one started. */
export const childrenOf = (parent: number | undefined): string[] =>
  readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && Number(statOf(pid)[1]) === parent);
/** Ids of the processes that one started, and of those that these started, for example within a sandbox. */
export const descendantsOf = (parent: number | undefined): string[] =>
  childrenOf(parent).flatMap((pid) => [pid, ...descendantsOf(Number(pid))]);
/** Ended, whether or not its exit code has been read. */
export const isGone = (pid: string): boolean => [undefined, "Z", "X"].includes(statOf(pid)[0]);
/** Processor time that it has used, in hundredths of a second. */
export const cpuTicks = (pid: string): number => Number(statOf(pid)[11]) + Number(statOf(pid)[12]);
