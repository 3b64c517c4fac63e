import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { compareClocks } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { startLoop } from "../platform/loop.ts";
import { version } from "../platform/version.ts";
import { deleteReplica, listProcesses, type OwnReplica, saveReplica } from "./queries.ts";

interface Heartbeat {
  readonly id: string;
  stop(): Promise<void>;
}

const everyMs = 10_000;

/**
 * Keeps this replica's row up to date. A missed heartbeat is replaced by the next one. The first removes the rows of processes on this
 * host that no longer exist, so that only one that is frozen or disconnected is listed beside this replica.
 */
export function startHeartbeat(
  sql: Sql,
  { role, settings }: Pick<OwnReplica, "role" | "settings">,
  running: () => number,
): Heartbeat {
  const own = { id: newId(), host: hostname().slice(0, 200), role, version, settings };
  let process: string | null | undefined;
  const run = async () => {
    if (process === undefined) {
      const found = await findProcess("self");
      for (const earlier of found === null ? [] : await listProcesses(sql, own.host))
        if (await isGone(earlier.process, found as string)) await deleteReplica(sql, earlier.id);
      process = found;
    }
    await compareClocks(() => saveReplica(sql, { ...own, process: process ?? null, running: running() }));
  };
  const beats = startLoop({ everyMs, firstMs: 0, run, onError: () => {} });
  return {
    id: own.id,
    stop: async () => {
      await beats.stop();
      await Promise.resolve(deleteReplica(sql, own.id)).catch(() => {});
    },
  };
}

/**
 * A process of this host: the place that its number belongs to (this boot and container), its number and its start. `null` if it has
 * ended, or if the operating system does not say.
 */
async function findProcess(pid: string): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second member is the name, which may contain spaces.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const place = `${boot.trim()}/${await readlink("/proc/self/ns/pid")}`;
    return state === "Z" || state === "X" ? null : `${place} ${stat.split(" ", 1)[0]} ${rest[18]}`;
  } catch {
    return null;
  }
}

/** Whether a process has ended. One of another place may still exist. */
async function isGone(process: string, own: string): Promise<boolean> {
  const [place, pid = ""] = process.split(" ");
  return place === own.split(" ", 1)[0] && (await findProcess(pid)) !== process;
}
