import type { Bus } from "../bus.ts";
import type { Sql } from "../database/client.ts";
import type { Log } from "../log.ts";
import { connectedAgents } from "./queries.ts";

export interface ConnectedAgents {
  readonly has: (agentId: string) => boolean;
  close(): void;
}

/** Longest time for which a replica may not have heard that an agent came or went, milliseconds. */
const sweepMs = 5_000;

/** The external agents that receive tasks, on whichever replica; known in memory, so that a run need not ask. */
export async function watchConnected(sql: Sql, bus: Bus, log: Log): Promise<ConnectedAgents> {
  let connected = await connectedAgents(sql);
  let last: Promise<void> = Promise.resolve();
  // One after the other: an older answer must not replace a newer one.
  const refresh = () => {
    last = last.then(async () => {
      connected = await connectedAgents(sql).catch((error) => {
        log.warn("connected agents not refreshed", { error });
        return connected;
      });
    });
    return last;
  };
  bus.on("streams", refresh);
  const timer = setInterval(refresh, sweepMs);
  return { has: (agentId) => connected.has(agentId), close: () => clearInterval(timer) };
}
