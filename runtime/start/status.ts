import { resolve } from "node:path";
import type { Part } from "../health/operations.ts";
import { listIntegrations } from "../integrations/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Redis } from "../platform/redis/client.ts";
import { redisCure } from "../platform/redis/refusal.ts";
import type { Connection } from "../plugins/connections.ts";
import { Board, type Probe } from "../status/board.ts";
import {
  agentSecretsProbe,
  certificateProbe,
  clockProbe,
  credentialsProbe,
  diskProbe,
  fullness,
  partProbe,
  pluginProbe,
  queuesProbe,
  replicasProbe,
  retentionProbe,
  settingsProbe,
  workersProbe,
} from "../status/local-probes.ts";
import { postsProbe } from "../status/posts-probe.ts";
import { listPreviousUses } from "../status/queries.ts";
import { connectionProbe, embedderProbe, hostOf, modelProbe } from "../status/remote-probes.ts";
import { startHeartbeat } from "../status/replica.ts";
import { memoryStoreProbe, storedProbes } from "../status/stored-probes.ts";
import type { Plugins } from "./plugins.ts";
import type { Queue } from "./queue.ts";
import type { Stages } from "./stages.ts";

/** The data of `GET /api/status`: probes of all parts that the service uses, and the heartbeat of this replica. */
export function openStatus(stages: Stages, queue: Queue) {
  const { config, sql, shutdown } = stages.core;
  const board = new Board(probesOf(stages));
  const heartbeat = startHeartbeat(
    sql,
    { role: config.SIGNALBOX_ROLE, settings: config.fingerprints },
    () => queue?.running() ?? 0,
  );
  shutdown.add(() => board.close());
  shutdown.add(() => heartbeat.stop());
  return {
    board,
    replica: heartbeat.id,
    silentSeconds: silentSecondsOf(stages.core),
    hostOf: (key: string) => hostOfBreaker(key, stages),
    installedPluginOf: (source: string) => installedPluginOf(source, stages.plugins),
  };
}
export type StatusBoard = ReturnType<typeof openStatus>;

/**
 * After how many seconds without a heartbeat a replica counts as ended: five minutes longer than its leases. An embedded database
 * has one replica, so any other has ended.
 */
const silentSecondsOf = ({ config, database }: Stages["core"]): number =>
  database.kind === "embedded" ? 0 : config.EXECUTION_LEASE_SECONDS + 300;

/**
 * The plugin of a source whose settings operators store over the API; `null` for built-in plugins and those that
 * `SIGNALBOX_PLUGINS` names, whose settings are variables.
 */
function installedPluginOf(source: string, { host, manager }: Plugins): string | null {
  const plugin = host.sources.get(source)?.plugin;
  const isInstalled = manager.all().some((one) => one.manifest.id === plugin && !manager.fromEnvironment().includes(one));
  return isInstalled && plugin !== undefined ? plugin : null;
}

/** The host of a breaker's model or connection; `null` if it is no longer configured. */
async function hostOfBreaker(key: string, { core, plugins }: Stages): Promise<string | null> {
  const [kind, source = "", id = ""] = key.split(" ");
  const { LLM_BASE_URL: baseUrl } = core.config;
  if (kind === "model") return baseUrl ? new URL(baseUrl).host : null;
  const { connections } = plugins;
  const found = await Promise.resolve(id === "environment" ? connections.environment(source) : connections.bySlug(id)).catch(
    () => null,
  );
  return found ? hostOf(found.settings) : null;
}

function probesOf({ core, requiredParts, network, resources, plugins, background }: Stages): Probe[] {
  const { config, database, sql, vault } = core;
  const { LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey } = config;
  const hosts = {
    database: config.DATABASE_URL ? new URL(config.DATABASE_URL).host : `the embedded database in ${resolve(config.DATA_DIR)}`,
    redis: config.REDIS_URL ? new URL(config.REDIS_URL).host : "127.0.0.1:6379",
  };
  const { accounts } = plugins;
  return [
    ...requiredParts.map((part) =>
      part.name === "database"
        ? partProbe(part, hosts.database, { full: () => fullness(database.lastFull()), limitation: database.limitation ?? null })
        : partProbe(withWrite(part, resources.redis), hosts.redis, {
            full: () => fullness(resources.redis?.lastRefusal() ?? null, redisCure),
            cure: redisCure,
          }),
    ),
    modelProbe({ baseUrl, apiKey, fetch: network.fetch }),
    embedderProbe(resources.embedder, baseUrl),
    connectionProbe({
      all: () => allConnections(sql, plugins),
      previousUses: () => listPreviousUses(sql),
      accounts,
      heldUntil: core.holds.heldUntil,
    }),
    pluginProbe(plugins.manager),
    ...(config.SIGNALBOX_ROLE === "api" ? [workersProbe(sql)] : []),
    ...storedProbes(sql, plugins.host),
    memoryStoreProbe(config.MEMORY_STORE, plugins.host),
    postsProbe(sql, ({ source, agent_id, ...work }) => accountIdOf(plugins.connections.forExecution(source, work, agent_id))),
    replicasProbe(sql, silentSecondsOf(core)),
    clockProbe(),
    settingsProbe(sql),
    credentialsProbe(sql, vault),
    agentSecretsProbe(sql),
    ...(config.GRPC_TLS_CERT ? [certificateProbe(resolve(config.GRPC_TLS_CERT))] : []),
    ...(database.kind === "embedded" ? [diskProbe(resolve(config.DATA_DIR))] : []),
    ...(background
      ? [retentionProbe(background.retention.last), queuesProbe(sql, plugins.host.queues, background.queueFailures)]
      : []),
  ];
}

/** A replica, or a server without memory, answers a ping and refuses only writes. Such a refusal is then the last one of `redis`. */
const withWrite = ({ name, probe }: Part, redis: Redis | null): Part => ({
  name,
  probe: async () => {
    await probe();
    await redis?.call("SET", `${redis.prefix}probe`, "", "PX", 1_000).catch(() => {});
  },
});

/** Returns `null` if the credentials of the account cannot be used. */
const accountIdOf = (connection: Promise<Connection | null>): Promise<string | null> =>
  connection.then((one) => one?.id ?? "environment").catch(() => null);

/**
 * The accounts from the environment that have all required settings, and those of the integrations whose credentials can be used.
 */
async function allConnections(sql: Sql, { connections }: Plugins) {
  const own = connections
    .fromEnvironment()
    .flatMap((connection) =>
      connection.missingSettings.length === 0 ? [{ name: `connection:${connection.source.name}`, connection }] : [],
    );
  const { items } = await listIntegrations(sql, { limit: 100, offset: 0 });
  const stored = await Promise.all(
    items.map(async ({ id, name }) => {
      const connection = await Promise.resolve(connections.bySlug(id)).catch(() => undefined);
      return connection && connection.missingSettings.length === 0 ? [{ name: `connection:${name} (${id})`, connection }] : [];
    }),
  );
  return [...own, ...stored.flat()];
}
