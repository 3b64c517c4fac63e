import type { Plugin } from "@signalbox/sdk";
import { createLlm } from "./agent/llm.ts";
import { createLookup } from "./agent/lookup.ts";
import { startWorker } from "./agent/worker.ts";
import { bindAll } from "./bind.ts";
import { openBus } from "./bus.ts";
import type { Config } from "./config.ts";
import { ping } from "./database/client.ts";
import { migrate } from "./database/migrate.ts";
import { openDatabase } from "./database/open.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { createInbox } from "./dispatch/inbox.ts";
import { readUnread } from "./dispatch/read-unread.ts";
import { openRouting } from "./dispatch/routing.ts";
import { createUnread } from "./dispatch/unread.ts";
import { watchConnected } from "./gateway/connected.ts";
import { countersOf } from "./gateway/counters.ts";
import { createLimits } from "./gateway/limits.ts";
import { openStreams } from "./gateway/open-streams.ts";
import { taskResults } from "./gateway/task-results.ts";
import { type Part, partsDown } from "./health/operations.ts";
import { createAuthenticate } from "./http/authenticate.ts";
import { openIntegrations } from "./integrations/store.ts";
import { openKeyring } from "./keys/keyring.ts";
import { openReach } from "./knowledge/reach.ts";
import { startRunner } from "./knowledge/runner.ts";
import type { Log } from "./log.ts";
import { startDiscovery } from "./mcp-servers/discovery.ts";
import { mcpTools } from "./mcp-servers/tools.ts";
import { openMemory } from "./memory/open.ts";
import { prepareMemory, storesFrom } from "./memory/prepare.ts";
import { exposureOf } from "./network/exposure.ts";
import { createGuard } from "./network/guard.ts";
import { leanFetch } from "./network/lean-fetch.ts";
import { openPace } from "./pace/open.ts";
import { createAccounts } from "./plugins/accounts.ts";
import { connectionsOf } from "./plugins/connections.ts";
import { openFleet } from "./plugins/fleet.ts";
import { createHost } from "./plugins/host.ts";
import { loadBuiltIns } from "./plugins/load.ts";
import { createLogTail } from "./plugins/log-tail.ts";
import { startScheduler } from "./poll-sources/scheduler.ts";
import { keepQueues } from "./queues/keep.ts";
import { openQueues } from "./queues/open.ts";
import { serve } from "./serve.ts";
import { isBuiltInSource } from "./tools/offer.ts";
import { openRegistry } from "./tools/registry.ts";
import { openAccess } from "./use-cases/access.ts";
import { createVault } from "./vault.ts";
import { createWatchdog } from "./watchdog/watchdog.ts";
import { createEvaluator } from "./webhook-mappings/evaluator.ts";
import { openHooks } from "./webhook-mappings/hooks.ts";

export interface Service {
  readonly port: number;
  readonly grpcPort: number;
  /** Drains and stops: no new work, running executions may end, the rest is given back. */
  stop(): Promise<void>;
}

/** Longest wait for running executions at a stop; what is left is continued by another worker. */
const drainMs = 25_000;
/** Longest that a plugin's texts may take to be embedded. */
const embedMs = 30_000;

/** Config → database → plugins → queue → HTTP and gRPC; the stop goes the other way round. */
export async function start(config: Config, { builtIns }: { builtIns: readonly Plugin[] }, log: Log): Promise<Service> {
  const database = await openDatabase(config, log);
  const { sql } = database;
  await migrate(database, log);
  const bus = await openBus(database, log);
  const watchdog = createWatchdog(sql, log, config.WATCHDOG_ENABLED);

  const keyring = await openKeyring(sql, bus, log, config.API_KEYS);
  const exposure = exposureOf(config, keyring.open);
  const guard = createGuard({ allowed: config.ALLOW_PRIVATE_ADDRESSES, loopback: exposure.open && exposure.local });

  const fetch = leanFetch(config);
  const ground = await prepareMemory(config, database, log);
  const { redis } = ground;
  const storedSettings = new Map<string, Readonly<Record<string, string>>>();
  const foreignSettingsOf = (id: string) => ({ ...config.foreignSettingsOf(id), ...storedSettings.get(id) });
  const connections = connectionsOf(config, log, foreignSettingsOf);
  // Use cases call what is only bound once their plugins are there.
  const access = openAccess({ sql, log, connections, trackerUpdates: config.TRACKER_UPDATES_ENABLED });
  const reach = openReach();
  const embed = (texts: readonly string[]) => ground.embedder.embedAll(texts, AbortSignal.timeout(embedMs));
  const pace = openPace(database, redis, log);
  const setUp = {
    grants: { ...ground.grants, embed, pace, operations: access.operations, trackers: access.trackers },
    configOf: config.connectionOf,
    hostsOf: connections.hostsOf,
    fetch,
    given: { hostsOf: (id: string) => [...connections.givenHostsOf(id), ...reach.hostsOf(id)], fetch: guard.fetch },
    log,
  };
  // Without a Redis its plugins have nothing to work on.
  const loaded = await loadBuiltIns({ ...setUp, builtIns: builtIns.filter((one) => redis || !one.needs.includes("redis")) });
  const host = createHost(loaded);
  const vault = createVault(config.ENCRYPTION_KEY);
  const alarm = (message: string, context: Record<string, unknown>) => watchdog("error", message, context);
  const warn = (message: string, context: Record<string, unknown>) => watchdog("warn", message, context);
  const sourceOf = (name: string) => host.sources.get(name);
  const integrations = await openIntegrations({ ...{ sql, bus, log, vault, sourceOf }, watchdog: alarm });
  connections.use(host, integrations);
  const pluginLogs = createLogTail();
  let contributed = async () => connections.use(host, integrations);
  const fleet = await openFleet({
    ...{ sql, bus, log, vault, host, watchdog: alarm, settings: storedSettings },
    specifiers: config.SIGNALBOX_PLUGINS,
    trusted: config.SIGNALBOX_TRUSTED_PLUGINS,
    builtIns: new Set(builtIns.map((plugin) => plugin.id)),
    contributed: () => contributed(),
    inProcess: {
      ...setUp,
      configOf: foreignSettingsOf,
      grants: { embed, pace, vectors: ground.vectors, operations: access.operations, trackers: access.trackers },
    },
    ground: {
      ...{
        deno: config.SIGNALBOX_DENO,
        settingsOf: foreignSettingsOf,
        guarded: guard.fetch,
        embed,
        log,
        logs: pluginLogs,
        vectors: ground.vectors,
      },
      ...{
        hostsOf: connections.hostsOf,
        userHostsOf: setUp.given.hostsOf,
        direct: fetch,
        operations: access.operations,
        trackers: access.trackers,
        pace,
      },
    },
  });
  const accounts = createAccounts(log);
  // Asked now, so that the first webhook need not wait for the answer.
  for (const connection of connections.all()) void accounts.of(connection);

  const memory = await openMemory({
    ...{ sql, bus, log },
    ...ground,
    stores: storesFrom(host, redis !== null, config.MEMORY_STORE),
    topK: config.MEMORY_TOP_K,
    promptLimit: config.MEMORY_SEARCH_LIMIT,
    shortTtlSeconds: config.REDIS_MEMORY_TTL,
    warn: (message, context) => watchdog("warn", message, context),
  });

  const routing = await openRouting(sql, bus, log);
  const evaluator = createEvaluator();
  const hooks = await openHooks({ ...{ sql, bus, log, vault, evaluator }, warn, alarm });
  const isTaken = (provider: string) =>
    fleet.isTaken(provider) || fleet.running(provider) !== undefined || isBuiltInSource(provider);
  const tools = await openRegistry({
    ...{ host, sql, bus, log, fetch: guard.fetch },
    builtIns: new Set(builtIns.map((plugin) => plugin.id)),
    discovered: () => mcpTools(sql, guard.fetch, isTaken),
  });
  contributed = async () => {
    connections.use(host, integrations);
    await tools.refresh();
  };
  const discovery = startDiscovery({
    ...{ sql, bus, log, fetch: guard.fetch },
    watchdog: (message, context) => watchdog("warn", message, context),
  });
  const llm = config.LLM_BASE_URL
    ? createLlm({
        ...{ fetch, baseUrl: config.LLM_BASE_URL, apiKey: config.LLM_API_KEY },
        timeoutMs: config.LLM_TIMEOUT_SECONDS * 1000,
      })
    : null;
  const talk = {
    ...{ tools, llm, recall: memory.recall },
    defaultModel: config.LLM_MODEL,
    maxToolRounds: config.LLM_MAX_TOOL_ROUNDS,
    trackerUpdates: config.TRACKER_UPDATES_ENABLED,
  };
  const connected = await watchConnected(sql, bus, log);
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const retries = { retryLimit: config.EXECUTION_RETRY_LIMIT, retryDelaySeconds: config.EXECUTION_RETRY_DELAY_SECONDS };
  const worker =
    config.SIGNALBOX_ROLE === "api"
      ? null
      : await startWorker({
          ...{ sql, log, bus, ...talk },
          connectionFor: connections.forExecution,
          concurrency: config.WORKER_CONCURRENCY,
          ...{ leaseSeconds, ...retries },
          connected: connected.has,
          lookup: createLookup(sql, database.kind === "embedded" ? 1 : 2),
          alone: database.kind === "embedded",
          watchdog: (message, context) => watchdog("error", message, context),
        });
  const wake = () => {
    // Other replicas are told only when this one cannot take it up at once.
    if (worker && worker.running() < config.WORKER_CONCURRENCY) worker.wake();
    else bus.publish("queue").catch((error) => log.warn("other replicas were not told", { error }));
  };
  const dispatcher = createDispatcher({ sql, routing, wake, warn, concurrency: database.kind === "embedded" ? 1 : 4 });
  const unread = createUnread(sql, log);
  const inbox = createInbox({
    connectionBySlug: connections.bySlug,
    ...{ accounts, hooks, evaluator, dispatcher, unread, log },
    watchdog: warn,
  });
  readUnread(unread, inbox, fleet);

  const scheduler =
    config.SIGNALBOX_ROLE === "api"
      ? null
      : startScheduler({
          ...{ sql, inbox, log, connectionOf: connections.bySlug, leaseSeconds: config.EXECUTION_LEASE_SECONDS },
          watchdog: (message, context) => watchdog("warn", message, context),
        });
  const librarian =
    config.SIGNALBOX_ROLE === "api"
      ? null
      : startRunner({
          ...{ sql, bus, log, vault, reach, leaseSeconds, knowledge: host.knowledge, written: memory.written },
          everyMinutes: config.KNOWLEDGE_SYNC_MINUTES,
          watchdog: warn,
        });
  const queueKeeper = config.SIGNALBOX_ROLE === "api" ? null : keepQueues({ sql, queues: host.queues, log });
  const polls = { host, connectionOf: connections.bySlug, changed: () => scheduler?.wake() };

  const streams = openStreams({ sql, bus, log, leaseSeconds });
  const needed: Part[] = [
    { name: "database", probe: () => ping(sql) },
    ...(redis ? [{ name: "redis", probe: () => redis.call("PING") }] : []),
  ];

  const bound = bindAll({
    ...{ bus, routing, inbox, connections, memory, polls, queues: openQueues(sql, host.queues), useCases: host.useCases },
    sources: () => host.sources.keys(),
    webhookMappings: { ...{ bus, vault, evaluator }, loadedSources: () => host.sources.keys() },
    knowledge: { ...{ bus, vault, guard }, connectors: () => host.knowledge },
    integrations: { ...{ bus, vault, guard, log }, sources: () => host.sources, environment: connections.environment },
    tools: {
      ...{ registry: tools, bus, checkAddress: guard.check },
      connectionOf: connections.forExecution,
      trackerUpdates: config.TRACKER_UPDATES_ENABLED,
    },
    chat: { ...talk, connectionOf: (source, agentId) => connections.forExecution(source, undefined, agentId) },
    plugins: {
      ...{ fleet, bus, vault, logs: pluginLogs },
      environment: (id) => Object.keys(config.foreignSettingsOf(id)),
    },
    mcpServers: { discovery, bus, checkAddress: guard.check, isTaken },
    gateway: {
      ...{ memory, leaseSeconds },
      limits: createLimits(
        { default: config.RATE_LIMIT_DEFAULT, trusted: config.RATE_LIMIT_TRUSTED, privileged: config.RATE_LIMIT_PRIVILEGED },
        countersOf(sql, redis),
      ),
      streams,
      results: taskResults({ ...{ sql, bus, ...retries }, watchdog: alarm }),
    },
    health: needed,
    watchdogEnabled: config.WATCHDOG_ENABLED,
  });
  access.use({ bound, inbox });
  const server = await serve({
    ...{ config, bound, inbox, tools, sql, log, exposure, keyring },
    authenticate: createAuthenticate(keyring),
    ready: async () => (await partsDown(needed)).length === 0,
  });
  if (!llm)
    log.warn(
      "no LLM is configured: set LLM_BASE_URL (and LLM_API_KEY, LLM_MODEL) to an OpenAI-compatible API; until then executions fail and can be restarted",
    );

  const stop = async () => {
    await server.close();
    await streams.close();
    await Promise.all([scheduler?.stop(), librarian?.stop(), queueKeeper?.stop()]);
    await worker?.stop(drainMs);
    await unread.close();
    routing.close();
    hooks.close();
    integrations.close();
    evaluator.close();
    tools.close();
    await discovery.close();
    connected.close();
    accounts.close();
    await memory.close();
    await fleet.stop();
    await host.dispose();
    await redis?.close();
    await guard.close();
    await bus.close();
    await database.close();
  };
  return { port: server.port, grpcPort: server.grpcPort, stop };
}
