import type { Bus } from "../bus.ts";
import type { Sql } from "../database/client.ts";
import type { Log } from "../log.ts";
import { connectedAgents } from "./queries.ts";

export interface ConnectedAgents {
  readonly has: (agentId: string) => boolean;
  close(): void;
}

/** Longest time for which an agent that went without a word still counts as connected here, milliseconds. */
const sweepMs = 5_000;

/** The external agents that receive tasks, on whichever replica; known in memory, so that a run need not ask. */
export async function watchConnected(sql: Sql, bus: Bus, log: Log): Promise<ConnectedAgents> {
  let connected = await connectedAgents(sql);
  const refresh = async () => {
    connected = await connectedAgents(sql);
  };
  bus.on("streams", refresh);
  const sweep = () => refresh().catch((error) => log.warn("connected agents not refreshed", { error }));
  const timer = setInterval(() => connected.size > 0 && sweep(), sweepMs);
  return { has: (agentId) => connected.has(agentId), close: () => clearInterval(timer) };
}
