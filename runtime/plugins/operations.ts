import * as plugins from "@signalbox/schema/plugins";
import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Vault } from "../platform/vault.ts";
import { throwRefusalAs } from "./admit.ts";
import { configure, requireSettings } from "./configure.ts";
import { describeFromEnvironment, describeInstalled, type PluginEntity } from "./describe.ts";
import { installVersion } from "./install-version.ts";
import type { LogTail } from "./log-tail.ts";
import { checkBundle } from "./plugin-files.ts";
import type { PluginManager } from "./plugin-manager.ts";
import {
  allPlugins,
  allVersions,
  deletePlugin,
  findBundle,
  findPlugin,
  findVersions,
  retryConnections,
  saveDenied,
  setEnabled,
  useVersion,
  type VersionRow,
} from "./queries.ts";
import { denialsFor, restrictPermissions } from "./restrict-permissions.ts";
import { storedSettings, throwAsConflict } from "./stored-settings.ts";

export interface PluginDeps {
  readonly manager: PluginManager;
  readonly bus: Bus;
  readonly vault: Vault;
  readonly logs: LogTail;
  /** A plugin's settings from the environment. */
  readonly environment: (id: string) => Readonly<Record<string, string>>;
}

const notFound = (id: string) => problem("not_found", `There is no plugin "${id}".`);

export function pluginOperations(deps: PluginDeps): BoundOperation[] {
  const { manager, bus, logs } = deps;
  const publishChange = () => bus.publish("plugins");
  const pluginOf = async (sql: Sql, id: string): Promise<PluginEntity> => {
    const plugin = (await describeAll(sql, deps)).find((one) => one.id === id);
    if (!plugin) throw notFound(id);
    return plugin;
  };
  return [
    handle(plugins.list, async ({ limit, offset }, { sql }) => {
      const all = await describeAll(sql, deps);
      return { items: all.slice(offset, offset + limit), total: all.length };
    }),
    handle(plugins.refused, async ({ limit, offset }) => {
      const all = [...manager.refused.values()].map((one) => ({ ...one }));
      return { items: all.slice(offset, offset + limit), total: all.length };
    }),
    handle(plugins.isolation, () => manager.isolation()),
    handle(plugins.get, ({ id }, { sql }) => pluginOf(sql, id)),
    handle(plugins.install, async (input, { sql }) => {
      const { id } = await installVersion(input, sql, manager);
      await publishChange();
      return pluginOf(sql, id);
    }),
    handle(plugins.approve, async ({ id, version }, { sql }) => {
      const versions = await requireInstalled(sql, id, manager);
      const chosenVersion = version === undefined ? versions.at(-1) : versions.find((one) => one.version === version);
      if (!chosenVersion)
        throw problem(
          "not_found",
          `There is no version ${version} of ${id}; installed: ${versions.map((one) => one.version).join(", ")}.`,
        );
      const bytes = await findBundle(sql, id, chosenVersion.version);
      if (!bytes) throw notFound(id);
      const row = await findPlugin(sql, id);
      const settings = await storedSettings(row, deps.vault).catch(throwAsConflict);
      requireSettings(chosenVersion.manifest, { ...deps.environment(id), ...settings });
      const manifest = restrictPermissions(chosenVersion.manifest, row?.denied ?? null);
      const trial = async () => {
        checkBundle(chosenVersion.manifest, new Uint8Array(bytes));
        await manager.trial({ name: id, bytes: new Uint8Array(bytes), manifest }, settings);
      };
      await trial().catch(throwRefusalAs(({ code, message }) => problem("wrong_state", `${code}: ${message}`)));
      const serving = (await findPlugin(sql, id))?.version ?? null;
      // A rollback withdraws the version, so that the next rollback does not choose it again.
      const isRollback =
        versions.findIndex((one) => one.version === chosenVersion.version) < versions.findIndex((one) => one.version === serving);
      await useVersion(sql, id, chosenVersion.version, isRollback ? serving : null);
      await setEnabled(sql, id, true);
      await publishChange();
      return pluginOf(sql, id);
    }),
    handle(plugins.enable, async ({ id }, { sql }) => {
      if (manager.fromEnvironment().some((one) => one.manifest.id === id)) {
        await bus.publish("plugins", id);
        return pluginOf(sql, id);
      }
      const row = await findPlugin(sql, id);
      if (!row) throw notFound(id);
      if (row.version === null)
        throw problem("wrong_state", `No version of ${id} was approved; see its permissions and approve one first.`);
      await setEnabled(sql, id, true);
      await publishChange();
      await bus.publish("plugins", id);
      return pluginOf(sql, id);
    }),
    handle(plugins.disable, async ({ id }, { sql }) => {
      await requireInstalled(sql, id, manager);
      await setEnabled(sql, id, false);
      await publishChange();
      return pluginOf(sql, id);
    }),
    handle(plugins.configure, async ({ id, settings }, { sql }) => {
      const versions = await requireInstalled(sql, id, manager);
      await configure(id, settings, versions, sql, deps);
      await bus.publish("secrets");
      await publishChange();
      // Only now, because a probe with the old settings would postpone the next one.
      await retryConnections(sql, [
        ...new Set(versions.flatMap(({ manifest }) => Object.keys(manifest.contributes?.sources ?? {}))),
      ]);
      await bus.publish("queue");
      return pluginOf(sql, id);
    }),
    handle(plugins.updatePermissions, async ({ id, ...wanted }, { sql }) => {
      const versions = await requireInstalled(sql, id, manager);
      const row = await findPlugin(sql, id);
      const shown = versions.find((one) => one.version === row?.version) ?? versions.at(-1);
      if (!row || !shown) throw notFound(id);
      await saveDenied(sql, id, denialsFor(wanted, shown.manifest, row.denied));
      await publishChange();
      return pluginOf(sql, id);
    }),
    handle(plugins.logs, async ({ id }, { sql }) => {
      await pluginOf(sql, id);
      return { lines: [...logs.of(id)] };
    }),
    handle(plugins.remove, async ({ id }, { sql }) => {
      await requireInstalled(sql, id, manager);
      await deletePlugin(sql, id);
      await publishChange();
      return {};
    }),
  ];
}

async function describeAll(sql: Sql, { manager, environment, vault }: PluginDeps): Promise<PluginEntity[]> {
  const [rows, versions] = await Promise.all([allPlugins(sql), allVersions(sql)]);
  const environmentPlugins = manager
    .fromEnvironment()
    .map((running) => describeFromEnvironment(running, new Set(Object.keys(environment(running.manifest.id)))));
  const installedPlugins = await Promise.all(
    rows.map(async (row) => {
      const settings = await storedSettings(row, vault).catch(() => ({}));
      const set = new Set([...Object.keys(environment(row.id)), ...Object.keys(settings)]);
      return describeInstalled(
        row,
        versions.filter((one) => one.plugin_id === row.id),
        manager,
        set,
      );
    }),
  );
  return [...environmentPlugins, ...installedPlugins];
}

/** The versions of an installed plugin. Throws if there is none, or if the environment names it. */
async function requireInstalled(sql: Sql, id: string, manager: PluginManager): Promise<VersionRow[]> {
  if (manager.fromEnvironment().some((one) => one.manifest.id === id))
    throw problem("wrong_state", `${id} is named by SIGNALBOX_PLUGINS; change it there.`);
  const versions = await findVersions(sql, id);
  if (versions.length === 0) throw notFound(id);
  return versions;
}
