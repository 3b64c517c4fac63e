import { recordChanges } from "../audit/record-changes.ts";
import { countersOf } from "../gateway/counters.ts";
import { createLimits } from "../gateway/limits.ts";
import { OpenStreams } from "../gateway/open-streams.ts";
import { createSecrets } from "../gateway/secrets.ts";
import { taskResults } from "../gateway/task-results.ts";
import type { Part } from "../health/operations.ts";
import { openQueues } from "../message-queues/open.ts";
import { bindAll } from "../operations.ts";
import { ping } from "../platform/database/client.ts";
import type { Agents } from "./agents.ts";
import type { Closing } from "./closing.ts";
import type { Foundations } from "./foundations.ts";
import type { Plugins } from "./plugins.ts";
import { retriesOf, type Work } from "./work.ts";

/** Every operation, joined to what it works on, and the parts that must answer for the service to be healthy. */
export function bindOperations(foundations: Foundations, plugins: Plugins, agents: Agents, work: Work, closing: Closing) {
  const { config, log, sql, bus, guard, ground, keyring, vault, alarm } = foundations;
  const { host, manager, connections, logs } = plugins;
  const { memory, tools, discovery, conversation, isTaken } = agents;
  const { routing, evaluator, receiver, scheduler, deferred } = work;
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const streams = new OpenStreams({ sql, bus, log, leaseSeconds, keys: keyring.configured });
  closing.add(() => streams.close());
  const { redis } = ground;
  const counters = countersOf(sql, redis);
  const needed: Part[] = [
    { name: "database", probe: () => ping(sql) },
    ...(redis ? [{ name: "redis", probe: () => redis.call("PING") }] : []),
  ];
  const perMinute = {
    ...{ default: config.RATE_LIMIT_DEFAULT, trusted: config.RATE_LIMIT_TRUSTED },
    privileged: config.RATE_LIMIT_PRIVILEGED,
  };
  const operations = bindAll({
    ...{ bus, routing, receiver, connections, memory, queues: openQueues(sql, host.queues), useCases: host.useCases },
    ...{ health: needed, deferredWebhooks: deferred.waiting, watchdogEnabled: config.WATCHDOG_ENABLED },
    sources: () => host.sources.keys(),
    polls: { host, connectionBySlug: connections.bySlug, changed: () => scheduler?.wake() },
    webhookMappings: { ...{ bus, vault, evaluator }, loadedSources: () => host.sources.keys() },
    knowledge: { ...{ bus, vault, guard }, connectors: () => host.knowledge },
    integrations: { ...{ bus, vault, guard, log }, sources: () => host.sources, environment: connections.environment },
    tools: { registry: tools, bus, checkAddress: guard.check },
    toolExecutions: {
      registry: tools,
      connectionFor: connections.forExecution,
      trackerUpdates: config.TRACKER_UPDATES_ENABLED,
    },
    chat: { ...conversation, connectionFor: (source, agentId) => connections.forExecution(source, undefined, agentId) },
    plugins: { ...{ manager, bus, vault, logs }, environment: config.pluginSettingsOf },
    mcpServers: { discovery, bus, checkAddress: guard.check, isTaken },
    gateway: {
      ...{ memory, leaseSeconds, streams },
      keys: keyring,
      limits: createLimits(perMinute, counters),
      secrets: createSecrets(counters),
      results: taskResults({ ...{ sql, bus, ...retriesOf(foundations) }, alarm }),
    },
  });
  const bound = recordChanges(operations, (error) =>
    alarm("failed to record a change in the audit log", { error: String(error) }),
  );
  return { bound, needed };
}
