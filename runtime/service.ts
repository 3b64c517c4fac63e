import { setTimeout as sleep } from "node:timers/promises";
import type { Plugin } from "@signalbox/sdk";
import { unavailableParts } from "./health/operations.ts";
import { openKeyring } from "./keys/keyring.ts";
import { openSessions } from "./keys/sessions.ts";
import { prepareMemory } from "./memory/prepare.ts";
import { type Config, StartError } from "./platform/config.ts";
import { refuseConflicts } from "./platform/config-conflicts.ts";
import { isReadOnly, isRefusal, unavailableCause } from "./platform/database/unavailable.ts";
import type { Log } from "./platform/log.ts";
import { requireFreePorts } from "./platform/network/free-ports.ts";
import { startBackground } from "./start/background.ts";
import { openConversation, openMemory, openTools } from "./start/conversation.ts";
import { openCore } from "./start/core.ts";
import { openMetrics } from "./start/metrics.ts";
import { openNetwork } from "./start/network.ts";
import { bindOperations, neededParts } from "./start/operations.ts";
import { openPlugins } from "./start/plugins.ts";
import { startQueue } from "./start/queue.ts";
import { createShutdown, type Shutdown } from "./start/shutdown.ts";
import { openStatus } from "./start/status.ts";
import { openWebhooks } from "./start/webhooks.ts";
import { createAuthenticate } from "./transports/http/authenticate.ts";
import { serve } from "./transports/serve.ts";

interface Service {
  /** Drains and stops: starts no new work, lets writes in flight finish, and queues the executions again. */
  stop(): Promise<void>;
}

/** Wait between two tries while the database is unavailable. */
const againMs = 500;
/** Time between two log lines about the same reason to wait. */
const waitLogMs = 5_000;
/** A start that has lost the database this often does not try again. */
const maxLosses = 10;
/** How long the running calls and requests have to finish during a stop, with a margin, in milliseconds. */
const portsCloseMs = 11_000;
/** Deadline of statements during a stop. */
const stoppingMs = 4_000;

/**
 * Config → database → plugins → queue → HTTP and gRPC; a stop or a failed start closes them in reverse order. If a start fails
 * because the database is unavailable, it is repeated until the database has not responded for `DATABASE_WAIT_SECONDS`.
 */
export async function start(config: Config, { builtIns }: { builtIns: readonly Plugin[] }, log: Log): Promise<Service> {
  const waitMs = config.DATABASE_WAIT_SECONDS * 1000;
  let end = performance.now() + waitMs;
  let losses = 0;
  const logWait = waitLogger(log);
  for (const { name, suggestion } of config.mistypedVariables)
    log.warn(`${name} is not a variable of Signalbox${suggestion ? `; did you mean ${suggestion}?` : ""}`, {
      variable: name,
      suggestion,
    });
  refuseConflicts(config);
  await requireFreePorts(config);
  for (;;) {
    const shutdown = createShutdown(log);
    try {
      const { shortenDeadlines } = await open(config, builtIns, log, shutdown);
      const stop = () => {
        shortenDeadlines(stoppingMs);
        return shutdown.close();
      };
      return { stop };
    } catch (error) {
      await shutdown.close().catch((second) => log.warn("cleanup after a failed start failed", { error: second }));
      const cause = unavailableCause(error);
      const reason = isRefusal(cause) ? null : cause;
      // A database that has never responded causes a StartError. Otherwise it responded during this try, so the wait begins
      // again.
      if (reason && !(error instanceof StartError) && ++losses < maxLosses) end = performance.now() + waitMs;
      if (!reason || performance.now() >= end) throw error;
      logWait((isReadOnly(reason) ? (error as Error) : (reason as Error)).message, end);
      await sleep(againMs);
    }
  }
}

/** Logs why the start waits, and until when: at once, when the reason changes, and every five seconds. */
function waitLogger(log: Log): (reason: string, end: number) => void {
  let last = { reason: "", at: 0 };
  return (reason, end) => {
    const now = performance.now();
    if (reason === last.reason && now - last.at < waitLogMs) return;
    last = { reason, at: now };
    log.warn("waiting for the database", { reason, seconds_left: Math.ceil((end - now) / 1000) });
  };
}

/** Opens every part in order; `shutdown` closes them in reverse. */
async function open(config: Config, builtIns: readonly Plugin[], log: Log, shutdown: Shutdown) {
  const core = await openCore(config, log, shutdown);
  const keyring = await openKeyring(core.sql, core.bus, log, config.API_KEYS);
  const network = openNetwork(core, keyring);
  const resources = await prepareMemory(config, core.database, log);
  shutdown.add(() => resources.redis?.close());
  const plugins = await openPlugins(core, network, resources, builtIns);
  const memory = await openMemory(core, resources, plugins);
  const tools = await openTools(core, network, plugins);
  const conversation = await openConversation(core, network, plugins, memory, tools);
  const queue = await startQueue(core, plugins, conversation);
  const webhooks = await openWebhooks(core, plugins, queue);
  const background = startBackground(core, plugins, memory, webhooks);
  const opened = {
    core,
    keyring,
    network,
    requiredParts: neededParts(core, resources),
    resources,
    plugins,
    memory,
    tools,
    conversation,
    webhooks,
    background,
  };
  const status = openStatus(opened, queue);
  const operations = bindOperations({ ...opened, status });
  plugins.access.use({ operations, receiver: webhooks.receiver });
  const sessions = openSessions(core.sql, keyring);
  const closePorts = await serve({
    config,
    operations,
    log,
    keyring,
    sql: core.sql,
    alarm: core.alarm,
    exposure: network.exposure,
    receiver: webhooks.receiver,
    tools: tools.registry,
    pluginRoutes: plugins.host.routes,
    authenticate: createAuthenticate(keyring, sessions, core.warn),
    sessions,
    metrics: openMetrics(core, plugins, queue, status),
    ready: async () => (await unavailableParts(opened.requiredParts)).length === 0,
  });
  shutdown.add(() => {
    // The ports stay open for a moment. What they still accept waits for another replica.
    queue?.stopClaiming();
    return closePorts();
  }, portsCloseMs);
  queue?.begin();
  return { shortenDeadlines: core.database.shortenDeadlines };
}
