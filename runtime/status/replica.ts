import { hostname } from "node:os";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { startLoop } from "../platform/loop.ts";
import { version } from "../platform/version.ts";
import { deleteReplica, type OwnReplica, saveReplica } from "./queries.ts";

interface Heartbeat {
  readonly id: string;
  stop(): Promise<void>;
}

const everyMs = 10_000;

/** Keeps this replica's row up to date. A missed heartbeat is replaced by the next one. */
export function startHeartbeat(
  sql: Sql,
  { role, settings }: Pick<OwnReplica, "role" | "settings">,
  running: () => number,
): Heartbeat {
  const own = { id: newId(), host: hostname().slice(0, 200), role, version, settings };
  const run = async () => void (await saveReplica(sql, { ...own, running: running() }));
  const beats = startLoop({ everyMs, firstMs: 0, run, onError: () => {} });
  return {
    id: own.id,
    stop: async () => {
      await beats.stop();
      await Promise.resolve(deleteReplica(sql, own.id)).catch(() => {});
    },
  };
}
