import type { Plugin } from "@signalbox/sdk";
import { openIntegrations } from "../integrations/store.ts";
import { openEgressAllowlist } from "../knowledge/egress-allowlist.ts";
import type { MemoryResources } from "../memory/prepare.ts";
import { openThrottle } from "../platform/throttle/open.ts";
import { createAccounts } from "../plugins/accounts.ts";
import { connectionsOf } from "../plugins/connections.ts";
import { createHost } from "../plugins/host.ts";
import { type LoadOptions, loadBuiltIns } from "../plugins/load.ts";
import { createLogTail } from "../plugins/log-tail.ts";
import { openOffload } from "../plugins/offload.ts";
import { PluginManager } from "../plugins/plugin-manager.ts";
import { createStandings } from "../plugins/standings.ts";
import { openAccess } from "../use-cases/access.ts";
import type { Core } from "./core.ts";
import type { Network } from "./network.ts";

/** Timeout for embedding the texts of a plugin, in milliseconds. */
const embedMs = 30_000;

/** The built-in plugins in this process, the third-party ones in sandboxes, and their accounts at the trackers. */
export async function openPlugins(core: Core, network: Network, resources: MemoryResources, builtIns: readonly Plugin[]) {
  const { config, log, sql, bus, vault, alarm, shutdown } = core;
  for (const name of config.unusedPluginVariables)
    log.warn("variable ignored: two underscores must separate a plugin's id from the setting", { name });
  const storedSettings = new Map<string, Readonly<Record<string, string>>>();
  const settingsOf = mergedSettings(config.pluginSettingsOf, storedSettings);
  const connections = connectionsOf(config, log, settingsOf);
  // Use cases call operations, which are bound after the plugins are loaded.
  const access = openAccess({ sql, log, connections, trackerUpdates: config.TRACKER_UPDATES_ENABLED });
  const egress = openEgressAllowlist();
  const shared = sharedBy(core, network, resources, {
    hostsOf: connections.hostsOf,
    userHostsOf: (id) => [...connections.userHostsOf(id), ...egress.hostsOf(id)],
  });
  const capabilities = { ...shared.capabilities, operations: access.operations, trackers: access.trackers };
  // Without Redis, plugins that need it are not loaded.
  const usable = builtIns.filter(({ needs }) => resources.redis || !needs.includes("redis"));
  const grants = { ...resources.grants, ...capabilities };
  const host = createHost(await loadBuiltIns({ ...shared.inProcess, grants, configOf: config.variablesOf, builtIns: usable }));
  shutdown.add(() => host.dispose());
  const sourceOf = (name: string) => host.sources.get(name);
  const { environmentOf } = connections;
  const integrations = await openIntegrations({ sql, bus, log, vault, sourceOf, alarm, environmentOf });
  shutdown.add(() => integrations.close());
  /** Called after plugins were loaded or removed. */
  const changed: (() => unknown)[] = [() => connections.use(host, integrations), () => integrations.refresh()];
  const readContributions = async () => {
    for (const listener of changed) await listener();
  };
  await readContributions();
  const logs = createLogTail();
  const builtInIds = new Set(builtIns.map(({ id }) => id));
  const manager = await PluginManager.open({
    sql,
    bus,
    log,
    vault,
    host,
    alarm,
    settings: storedSettings,
    onContributions: readContributions,
    environment: config.pluginSettingsOf,
    specifiers: config.SIGNALBOX_PLUGINS,
    trustedPlugins: config.SIGNALBOX_TRUSTED_PLUGINS,
    builtIns: builtInIds,
    inProcess: { ...shared.inProcess, configOf: settingsOf, grants: { ...capabilities, vectors: resources.vectors } },
    dependencies: { ...shared.sandboxed, ...capabilities, logs, settingsOf },
  });
  shutdown.add(() => manager.stop());
  return { host, manager, connections, ...openAccounts(core, connections), access, egress, logs, changed, builtInIds };
}
export type Plugins = Awaited<ReturnType<typeof openPlugins>>;

interface Hosts {
  /** Hosts of a plugin's connections. */
  readonly hostsOf: (plugin: string) => readonly string[];
  /** Hosts that users entered for a plugin. */
  readonly userHostsOf: (plugin: string) => readonly string[];
}

/** The services that plugins get, in this process as well as in a sandbox. */
function sharedBy({ config, log, database, shutdown, holds }: Core, network: Network, resources: MemoryResources, hosts: Hosts) {
  const { offloadFor } = openOffload(shutdown, log);
  const { hostsOf, userHostsOf } = hosts;
  const { guard, pluginGuard, fetch } = network;
  return {
    capabilities: {
      embed: (texts: readonly string[]) => resources.embedder.embedAll(texts, AbortSignal.timeout(embedMs)),
      throttle: holds.recordHolds(openThrottle(database, resources.redis, log)),
    },
    inProcess: {
      hostsOf,
      fetch,
      log,
      offloadFor,
      userUrls: { hostsOf: userHostsOf, fetch: guard.fetch },
    } satisfies Partial<LoadOptions>,
    sandboxed: {
      log,
      hostsOf,
      userHostsOf,
      deno: config.SIGNALBOX_DENO,
      requiresIsolation: config.PLUGIN_WALLS === "require",
      vectors: resources.vectors,
      guardedFetch: pluginGuard.fetch,
      directFetch: fetch,
    },
  };
}

function openAccounts({ log, shutdown }: Core, connections: ReturnType<typeof connectionsOf>) {
  const accounts = createAccounts(log, connections);
  shutdown.add(() => accounts.close());
  // Requested now, so that the first webhook does not wait for it.
  for (const connection of connections.fromEnvironment()) void accounts.of(connection);
  const standings = createStandings(log);
  shutdown.add(() => standings.close());
  return { accounts, standings };
}

type Settings = Readonly<Record<string, string>>;

/**
 * The settings of a plugin; stored ones take precedence over those of the environment. Returns the same object as long as none
 * changes.
 */
function mergedSettings(ofEnvironment: (id: string) => Settings, ofDatabase: ReadonlyMap<string, Settings>) {
  const cache = new Map<string, { readonly stored: Settings | undefined; readonly merged: Settings }>();
  return (id: string): Settings => {
    const stored = ofDatabase.get(id);
    const before = cache.get(id);
    if (before && before.stored === stored) return before.merged;
    const settings = { ...ofEnvironment(id), ...stored };
    cache.set(id, { stored, merged: settings });
    return settings;
  };
}
