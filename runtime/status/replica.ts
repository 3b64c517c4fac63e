import { hostname } from "node:os";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { version } from "../platform/version.ts";
import { deleteReplica, type OwnReplica, saveReplica } from "./queries.ts";

export interface Heartbeat {
  readonly id: string;
  stop(): Promise<void>;
}

const everyMs = 10_000;

/** Keeps this replica's row. A missed beat is made up by the next one. */
export function startHeartbeat(sql: Sql, role: OwnReplica["role"], running: () => number): Heartbeat {
  const own = { id: newId(), host: hostname().slice(0, 200), role, version, started_at: new Date().toISOString() };
  let last: Promise<unknown> = Promise.resolve();
  const beat = () => {
    last = Promise.resolve(saveReplica(sql, { ...own, running: running() })).catch(() => {});
  };
  beat();
  const timer = setInterval(beat, everyMs);
  timer.unref();
  return {
    id: own.id,
    stop: async () => {
      clearInterval(timer);
      await last;
      await Promise.resolve(deleteReplica(sql, own.id)).catch(() => {});
    },
  };
}
