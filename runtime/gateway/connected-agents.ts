import type { Bus } from "../platform/bus.ts";
import { openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { connectedAgents } from "./queries.ts";

interface ConnectedAgents {
  readonly has: (agentId: string) => boolean;
  close(): void;
}

/** Interval between two reads of the list, in case a message is lost; milliseconds. */
const sweepMs = 5_000;

/** The external agents that receive tasks on any replica, kept in memory so that a run needs no query. */
export async function watchConnectedAgents(sql: Sql, bus: Bus, log: Log): Promise<ConnectedAgents> {
  let connected = new Set<string>();
  const read = async () => {
    connected = await connectedAgents(sql);
  };
  const { close } = await openCachedValue({ name: "connected agents", topic: "streams", read, bus, log, sweepMs });
  return { has: (agentId) => connected.has(agentId), close };
}
