import { ChangeRecorder } from "../audit/change-recorder.ts";
import { recordChanges } from "../audit/record-changes.ts";
import { countersOf } from "../gateway/counters.ts";
import { createLimits } from "../gateway/limits.ts";
import { OpenStreams } from "../gateway/open-streams.ts";
import { createSecrets } from "../gateway/secrets.ts";
import { taskResults } from "../gateway/task-results.ts";
import type { Part } from "../health/operations.ts";
import { withinProjects } from "../keys/projects.ts";
import { isSeeded } from "../mappings/defaults.ts";
import type { MemoryResources } from "../memory/prepare.ts";
import { openQueues } from "../message-queues/open.ts";
import { bindAll } from "../operations.ts";
import { ping } from "../platform/database/client.ts";
import { pseudonymOf } from "../platform/fingerprints.ts";
import { eventNamesOf } from "../plugins/event-names.ts";
import { settingsPolicy } from "../policy/settings.ts";
import type { Core } from "./core.ts";
import { retriesOf } from "./queue.ts";
import type { Stages } from "./stages.ts";
import type { StatusBoard } from "./status.ts";

/** The parts that must respond for the service to be healthy. */
export const neededParts = ({ sql }: Core, { redis }: MemoryResources): readonly Part[] => [
  { name: "database", probe: () => ping(sql) },
  ...(redis ? [{ name: "redis", probe: () => redis.call("PING") }] : []),
];

const integrationDeps = ({
  core: { bus, vault, log },
  network: { guard },
  plugins: { host, connections, accounts },
}: Stages) => ({
  bus,
  vault,
  guard,
  log,
  sources: () => host.sources,
  environment: connections.environment,
  storedConnection: connections.bySlug,
  accounts,
});

/** Every operation with its dependencies; changes are recorded in the audit log. */
export function bindOperations(stages: Stages & { readonly status: StatusBoard }) {
  const { core, network, plugins, memory, tools, webhooks } = stages;
  const { config, sql, bus, policies, vault } = core;
  const { guard } = network;
  const { host, manager, connections, logs } = plugins;
  const { routing, evaluator, receiver, deferred } = webhooks;
  const connectionFor = connections.forExecution;
  const trackerUpdates = config.TRACKER_UPDATES_ENABLED;
  const loadedSources = () => host.sources.keys();
  const sources = () => new Set([...loadedSources(), ...webhooks.rules.sources()]);
  const operations = bindAll({
    bus,
    policies,
    routing,
    receiver,
    explain: explainDeps(stages),
    connections,
    memory,
    sources,
    queues: openQueues(sql, host.queues),
    useCases: host.useCases,
    retention: { days: config, bus, longRunning: core.database.longRunning, sources, memories: memory },
    health: stages.requiredParts,
    status: stages.status,
    settings: config.settings,
    deferredWebhooks: deferred.backlogs,
    watchdogEnabled: config.WATCHDOG_ENABLED,
    polls: pollDeps(stages),
    webhookChecks: { connections, publicUrl: config.PUBLIC_URL },
    webhookMappings: { bus, vault, evaluator, loadedSources, eventNames: eventNamesOf(() => host.sources, isSeeded) },
    knowledge: { bus, vault, guard, connectors: () => host.knowledge },
    integrations: integrationDeps(stages),
    tools: { registry: tools.registry, bus, checkAddress: guard.check },
    toolExecutions: { registry: tools.registry, connectionFor, trackerUpdates, sources },
    chat: { ...stages.conversation, connectionFor },
    plugins: { manager, bus, vault, logs, environment: config.pluginSettingsOf },
    mcpServers: { discovery: tools.discovery, bus, checkAddress: guard.check, isTaken: tools.isTaken },
    gateway: openGateway(stages),
  });
  return withinProjects(
    recordChanges(operations, {
      pseudonymOf: (name) => pseudonymOf(name, config.ENCRYPTION_KEY[0]),
      recorder: openRecorder(stages),
    }),
  );
}

const pollDeps = (stages: Stages) => ({
  host: stages.plugins.host,
  connectionBySlug: stages.plugins.connections.bySlug,
  reportUnreadable: stages.webhooks.reportUnreadable,
  onChange: () => stages.background?.polls.wake(),
});

/** Records changes, and those of replicas that have ended. */
function openRecorder({ core: { sql, alarm, shutdown }, status }: Stages & { readonly status: StatusBoard }): ChangeRecorder {
  const onError = (error: unknown) => alarm("failed to record a change in the audit log", { error: String(error) });
  const recorder = new ChangeRecorder({ replica: status.replica, onError });
  const checks = recorder.watch(sql, status.silentSeconds);
  shutdown.add(() => checks.stop());
  return recorder;
}

/** The functions that decide about a webhook, used to explain a decision. */
const explainDeps = ({ core, plugins, webhooks }: Stages) => ({
  routing: webhooks.routing,
  rules: webhooks.rules,
  standings: webhooks.standings,
  policies: core.policies,
  loops: { windowSeconds: core.config.LOOP_WINDOW_SECONDS },
  settings: settingsPolicy(core.config),
  evaluator: webhooks.evaluator,
  hasCommands: core.config.COMMANDS_ENABLED,
  accounts: plugins.accounts,
  connectionBySlug: plugins.connections.bySlug,
  log: core.log,
});

/** The gateway of external agents: their streams of tasks, limits and secrets. */
function openGateway({ core, keyring, resources, memory, conversation }: Stages) {
  const { config, log, sql, bus, alarm, warn, shutdown } = core;
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const streams = new OpenStreams({ sql, bus, log, leaseSeconds, keys: keyring.configuredHashes });
  shutdown.add(() => streams.close());
  const counters = countersOf(sql, resources.redis);
  const perMinute = {
    default: config.RATE_LIMIT_DEFAULT,
    trusted: config.RATE_LIMIT_TRUSTED,
    privileged: config.RATE_LIMIT_PRIVILEGED,
  };
  return {
    memory,
    leaseSeconds,
    streams,
    keys: keyring,
    limits: createLimits(perMinute, counters),
    secrets: createSecrets(counters),
    warn,
    results: taskResults({ ...retriesOf(core), sql, bus, alarm, settings: settingsPolicy(config), prices: conversation.prices }),
  };
}
