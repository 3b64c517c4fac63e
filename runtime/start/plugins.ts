import type { Plugin } from "@signalbox/sdk";
import { openIntegrations } from "../integrations/store.ts";
import { openEgressAllowlist } from "../knowledge/egress-allowlist.ts";
import { createAccounts } from "../plugins/accounts.ts";
import { connectionsOf } from "../plugins/connections.ts";
import { createHost } from "../plugins/host.ts";
import { loadBuiltIns } from "../plugins/load.ts";
import { createLogTail } from "../plugins/log-tail.ts";
import { openOffload } from "../plugins/offload.ts";
import { PluginManager } from "../plugins/plugin-manager.ts";
import { openAccess } from "../use-cases/access.ts";
import type { Closing } from "./closing.ts";
import type { Foundations } from "./foundations.ts";

/** Longest that a plugin's texts may take to be embedded. */
const embedMs = 30_000;

const warnOfUnread = ({ unreadPluginVariables }: Foundations["config"], log: Foundations["log"]): void => {
  for (const name of unreadPluginVariables)
    log.warn("a variable is not read: two underscores must separate a plugin's id from the setting", { name });
};

/** The built-in plugins in this process, those of others in sandboxes of their own, and the accounts that they work in. */
export async function openPlugins(foundations: Foundations, builtIns: readonly Plugin[], closing: Closing) {
  const { config, log, sql, bus, guard, pluginGuard, ground, vault, fetch, pace, alarm } = foundations;
  warnOfUnread(config, log);
  const storedSettings = new Map<string, Readonly<Record<string, string>>>();
  const pluginSettingsOf = (id: string) => ({ ...config.pluginSettingsOf(id), ...storedSettings.get(id) });
  const connections = connectionsOf(config, log, pluginSettingsOf);
  // Use cases call what is only bound once their plugins are there.
  const access = openAccess({ sql, log, connections, trackerUpdates: config.TRACKER_UPDATES_ENABLED });
  const reach = openEgressAllowlist();
  const embed = (texts: readonly string[]) => ground.embedder.embedAll(texts, AbortSignal.timeout(embedMs));
  /** The capabilities of every plugin, wherever it runs. */
  const capabilities = { embed, throttle: pace, operations: access.operations, trackers: access.trackers };
  const userHostsOf = (id: string) => [...connections.givenHostsOf(id), ...reach.hostsOf(id)];
  const { offloadFor } = openOffload(closing);
  const setUp = { hostsOf: connections.hostsOf, fetch, log, offloadFor, given: { hostsOf: userHostsOf, fetch: guard.fetch } };
  // Without a Redis its plugins have nothing to work on.
  const usable = builtIns.filter(({ needs }) => ground.redis || !needs.includes("redis"));
  const grants = { ...ground.grants, ...capabilities };
  const host = createHost(await loadBuiltIns({ ...setUp, grants, configOf: config.connectionOf, builtIns: usable }));
  closing.add(() => host.dispose());
  const integrations = await openIntegrations({
    ...{ sql, bus, log, vault, sourceOf: (name: string) => host.sources.get(name) },
    ...{ watchdog: alarm, environmentOf: connections.environmentOf },
  });
  closing.add(() => integrations.close());
  const logs = createLogTail();
  /** Called whenever other plugins contribute than before. */
  const changed: (() => unknown)[] = [() => connections.use(host, integrations), () => integrations.refresh()];
  const contributed = async () => {
    for (const tell of changed) await tell();
  };
  await contributed();
  const manager = await PluginManager.open({
    ...{ sql, bus, log, vault, host, watchdog: alarm, settings: storedSettings, contributed },
    environment: config.pluginSettingsOf,
    specifiers: config.SIGNALBOX_PLUGINS,
    trusted: config.SIGNALBOX_TRUSTED_PLUGINS,
    builtIns: new Set(builtIns.map(({ id }) => id)),
    inProcess: { ...setUp, configOf: pluginSettingsOf, grants: { ...capabilities, vectors: ground.vectors } },
    dependencies: {
      ...{ ...capabilities, log, logs, hostsOf: connections.hostsOf, userHostsOf, deno: config.SIGNALBOX_DENO },
      requiresIsolation: config.PLUGIN_WALLS === "require",
      ...{ vectors: ground.vectors, guarded: pluginGuard.fetch, direct: fetch, settingsOf: pluginSettingsOf },
    },
  });
  closing.add(() => manager.stop());
  const accounts = createAccounts(log);
  closing.add(() => accounts.close());
  // Asked now, so that the first webhook need not wait for the answer.
  for (const connection of connections.all()) void accounts.of(connection);
  return { host, manager, connections, integrations, accounts, access, reach, logs, changed, builtIns };
}
export type Plugins = Awaited<ReturnType<typeof openPlugins>>;
