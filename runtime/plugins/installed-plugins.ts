import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { FailedUpgrades } from "./failed-upgrades.ts";
import {
  type InstalledPlugin,
  isAvailable,
  isServing,
  loadsTheSame,
  requireDigest,
  requireReady,
  type Settings,
} from "./installed-plugin.ts";
import { type RefusedPlugin, refusedPlugin } from "./load.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";
import type { PluginFiles } from "./plugin-files.ts";
import type { ProcessStates } from "./process-states.ts";
import { allPlugins, allVersions, findBundle, type PluginRow, type VersionRow } from "./queries.ts";
import { restrictPermissions } from "./restrict-permissions.ts";
import type { ServedContributions } from "./served-contributions.ts";
import { storedSettings } from "./stored-settings.ts";

interface InstalledPluginsDeps {
  readonly sql: Sql;
  readonly log: Log;
  readonly vault: Vault;
  readonly alarm: Report;
  /** The stored settings of each running plugin. */
  readonly settings: Map<string, Settings>;
  readonly contributions: ServedContributions;
  readonly states: ProcessStates;
  /** Loads a plugin with these stored settings. It may have the id `replaced`. */
  readonly load: (plugin: PluginFiles, replaced: string, stored: Settings) => Promise<LoadedThirdParty>;
}

/** The plugins in the database, as this replica runs them. */
export class InstalledPlugins {
  readonly #deps: InstalledPluginsDeps;
  readonly #loaded = new Map<string, InstalledPlugin>();
  readonly #refused = new Map<string, RefusedPlugin>();
  readonly failedUpgrades: FailedUpgrades;

  constructor(deps: InstalledPluginsDeps) {
    this.#deps = deps;
    this.failedUpgrades = new FailedUpgrades(deps);
  }

  /** The plugins that could not be loaded, by id. */
  get refused(): ReadonlyMap<string, RefusedPlugin> {
    return this.#refused;
  }
  all(): readonly InstalledPlugin[] {
    return [...this.#loaded.values()];
  }
  find(id: string): InstalledPlugin | undefined {
    return this.#loaded.get(id);
  }

  /** Loads the plugins that are in the database now, and unloads all others. */
  async follow(): Promise<void> {
    const { sql } = this.#deps;
    const [rows, versions] = await Promise.all([allPlugins(sql), allVersions(sql)]);
    const rowsById = new Map(rows.filter((row) => row.enabled && row.version !== null).map((row) => [row.id, row]));
    const loadedPluginOf = (row: PluginRow) => {
      const current = this.#loaded.get(row.id);
      return current && loadsTheSame(row, current.row) ? current : undefined;
    };
    // Before all that takes long: by then, a process may have been quarantined or started again.
    for (const row of rowsById.values()) {
      const current = loadedPluginOf(row);
      if (current) this.#followRow(current, row);
    }
    for (const id of this.#loaded.keys()) if (!rowsById.has(id)) await this.#unload(id);
    for (const row of rowsById.values()) {
      const version = versions.find((one) => one.plugin_id === row.id && one.version === row.version);
      if (version && !loadedPluginOf(row)) await this.#loadInstalled(row, version, this.#loaded.get(row.id));
    }
    for (const id of this.#refused.keys()) if (!rowsById.has(id)) this.#refused.delete(id);
  }

  /** Applies a decision of another replica or an operator about a plugin that is loaded here. */
  #followRow({ process, manifest }: InstalledPlugin, { quarantine_code, quarantine_reason }: PluginRow): void {
    this.failedUpgrades.forget(manifest.id);
    const isQuarantined = process?.status().state === "quarantined";
    if (quarantine_code !== null && !isQuarantined) process?.quarantine(quarantine_code, quarantine_reason ?? "");
    else if (quarantine_code === null && isQuarantined && process && !this.#deps.states.isStoring(process)) void process.start();
  }

  /** Loads a version with its settings. If it replaces a running version, it is started first, and discarded if that fails. */
  async #loadInstalled(row: PluginRow, version: VersionRow, current: InstalledPlugin | undefined): Promise<void> {
    if (current && this.failedUpgrades.has(row)) return;
    let candidate: LoadedThirdParty | undefined;
    try {
      const settings = await storedSettings(row, this.#deps.vault);
      const bytes = await findBundle(this.#deps.sql, row.id, version.version);
      if (!bytes) return;
      const manifest = restrictPermissions(version.manifest, row.denied);
      candidate = await this.#deps.load({ name: row.id, bytes: new Uint8Array(bytes), manifest }, row.id, settings);
      requireDigest(version, candidate.sha256);
      if (current && isAvailable(current) && row.quarantine_code === null) {
        await candidate.process?.start();
        requireReady(candidate.process?.status());
      }
      await this.#replace(row, candidate, settings, current);
    } catch (error) {
      void candidate?.process?.stop();
      if (current && isAvailable(current)) this.failedUpgrades.add(row, current, error);
      else {
        if (current) await this.#unload(row.id);
        const reason = messageOf(error);
        if (this.#refused.get(row.id)?.reason !== reason) this.#refuse(row.id, error);
      }
    }
  }

  async #replace(row: PluginRow, candidate: LoadedThirdParty, settings: Settings, current?: InstalledPlugin): Promise<void> {
    const { id } = row;
    this.#deps.settings.set(id, settings);
    this.#loaded.set(id, { ...candidate, row });
    this.#refused.delete(id);
    this.failedUpgrades.forget(id);
    const { process } = candidate;
    // A quarantined plugin keeps its names: its webhooks are deferred, and calls of its tools return the reason.
    if (row.quarantine_code !== null) process?.quarantine(row.quarantine_code, row.quarantine_reason ?? "");
    else void process?.start();
    await this.#deps.contributions.serve(candidate);
    if (process && isServing(process)) this.#deps.states.notify(id, process.status());
    // The old process finishes its calls while the new one already accepts calls.
    void current?.process?.stop();
  }

  async #unload(id: string): Promise<void> {
    const plugin = this.#loaded.get(id);
    if (!plugin) return;
    this.#loaded.delete(id);
    this.failedUpgrades.forget(id);
    this.#deps.settings.delete(id);
    await this.#deps.contributions.remove(id);
    // Its calls finish in the background.
    void plugin.process?.stop();
  }

  #refuse(id: string, error: unknown): void {
    const refused = refusedPlugin(id, error);
    this.#refused.set(id, refused);
    this.#deps.log.error("plugin refused", { ...refused });
  }
}
