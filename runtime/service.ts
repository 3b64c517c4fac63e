import { setTimeout as sleep } from "node:timers/promises";
import type { Plugin } from "@signalbox/sdk";
import { partsDown } from "./health/operations.ts";
import { type Config, StartError } from "./platform/config.ts";
import { isUnavailable } from "./platform/database/client.ts";
import type { Log } from "./platform/log.ts";
import { openAgents } from "./start/agents.ts";
import { type Closing, createClosing } from "./start/closing.ts";
import { openFoundations } from "./start/foundations.ts";
import { bindOperations } from "./start/operations.ts";
import { openPlugins } from "./start/plugins.ts";
import { startWork } from "./start/work.ts";
import { createAuthenticate } from "./transports/http/authenticate.ts";
import { serve } from "./transports/serve.ts";

export interface Service {
  readonly port: number;
  readonly grpcPort: number;
  /** Drains and stops: no new work, running executions may end, the rest is given back. */
  stop(): Promise<void>;
}

/** Between two tries while the database is unavailable. */
const againMs = 500;
/** Once the stop has begun a statement has only so long. */
const stoppingMs = 4_000;

/**
 * Config → database → plugins → queue → HTTP and gRPC; the stop goes the other way round, as does a start that fails. A start
 * that fails because the database is unavailable is begun again.
 */
export async function start(config: Config, { builtIns }: { builtIns: readonly Plugin[] }, log: Log): Promise<Service> {
  const end = performance.now() + config.DATABASE_WAIT_SECONDS * 1000;
  for (;;) {
    const closing = createClosing(log);
    try {
      const { port, grpcPort, hasten } = await open(config, builtIns, log, closing);
      const stop = () => {
        hasten(stoppingMs);
        return closing.close();
      };
      return { port, grpcPort, stop };
    } catch (error) {
      await closing.close().catch((second) => log.warn("what was opened could not be closed", { error: second }));
      const reason = error instanceof StartError ? error.cause : error;
      if (!isUnavailable(reason) || performance.now() >= end) throw error;
      log.warn("waiting for the database", {
        reason: (reason as Error).message,
        seconds_left: Math.ceil((end - performance.now()) / 1000),
      });
      await sleep(againMs);
    }
  }
}

async function open(config: Config, builtIns: readonly Plugin[], log: Log, closing: Closing) {
  const foundations = await openFoundations(config, log, closing);
  const plugins = await openPlugins(foundations, builtIns, closing);
  const agents = await openAgents(foundations, plugins, closing);
  const work = await startWork(foundations, plugins, agents, closing);
  const { bound, needed } = bindOperations(foundations, plugins, agents, work, closing);
  const { receiver } = work;
  plugins.access.use({ bound, receiver });
  const { sql, exposure, keyring } = foundations;
  const server = await serve({
    ...{ config, bound, receiver, tools: agents.tools, pluginRoutes: plugins.host.routes, sql, log, exposure, keyring },
    authenticate: createAuthenticate(keyring),
    ready: async () => (await partsDown(needed)).length === 0,
  });
  closing.add(() => server.close());
  return { ...server, hasten: foundations.database.hasten };
}
