import type { Plugin } from "@signalbox/sdk";
import { partsDown } from "./health/operations.ts";
import type { Config } from "./platform/config.ts";
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

/** Config → database → plugins → queue → HTTP and gRPC; the stop goes the other way round, as does a start that fails. */
export async function start(config: Config, { builtIns }: { builtIns: readonly Plugin[] }, log: Log): Promise<Service> {
  const closing = createClosing();
  try {
    const { port, grpcPort } = await open(config, builtIns, log, closing);
    return { port, grpcPort, stop: closing.close };
  } catch (error) {
    await closing.close().catch((second) => log.warn("what was opened could not be closed", { error: second }));
    throw error;
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
  return server;
}
