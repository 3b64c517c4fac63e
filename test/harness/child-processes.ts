import { readdirSync, readFileSync } from "node:fs";

// Processes as described in /proc.

/** The fields of a process in /proc, starting at its state; `[]` if it does not exist. */
const statOf = (pid: string): string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  } catch {
    return [];
  }
};

/** Ids of the child processes of a process. */
export const childrenOf = (parent: number | undefined): string[] =>
  readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && Number(statOf(pid)[1]) === parent);
/** Ids of the descendants of a process, for example within a sandbox. */
export const descendantsOf = (parent: number | undefined): string[] =>
  childrenOf(parent).flatMap((pid) => [pid, ...descendantsOf(Number(pid))]);
/** Whether it has ended, even if its exit code has not been read. */
export const isGone = (pid: string): boolean => [undefined, "Z", "X"].includes(statOf(pid)[0]);
/** Processor time that it has used, in hundredths of a second. */
export const cpuTicks = (pid: string): number => Number(statOf(pid)[11]) + Number(statOf(pid)[12]);
