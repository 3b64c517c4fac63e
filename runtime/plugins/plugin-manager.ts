import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { Refusal } from "./admit.ts";
import { cachedBundle } from "./bundle-cache.ts";
import type { Host } from "./host.ts";
import { isServing, requireReady, type Settings } from "./installed-plugin.ts";
import { InstalledPlugins } from "./installed-plugins.ts";
import { type RefusedPlugin, refusedPlugin } from "./load.ts";
import { type LoadedThirdParty, type LoadThirdPartyOptions, loadThirdParty } from "./load-third-party.ts";
import { type PluginFiles, readPluginFiles } from "./plugin-files.ts";
import { ProcessStates, type StateListener } from "./process-states.ts";
import { type IsolationLayer, unusableLayers, workingIsolation } from "./sandbox/isolation.ts";
import { ServedContributions } from "./served-contributions.ts";

interface PluginManagerOptions extends Omit<LoadThirdPartyOptions, "onStatus"> {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly host: Host;
  readonly specifiers: readonly string[];
  /** Ids of the built-in plugins. */
  readonly builtIns: ReadonlySet<string>;
  readonly alarm: Report;
  /** Called when the host's contributions changed. */
  readonly onContributions: () => Promise<void> | void;
  /** The stored settings of each running plugin. */
  readonly settings: Map<string, Settings>;
  /** A plugin's settings from the environment; stored settings take precedence. */
  readonly environment: (id: string) => Settings;
}

/** The third-party plugins of this replica: first those that the environment names, then those in the database. */
export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #fromEnvironment = new Map<string, LoadedThirdParty>();
  readonly #installed: InstalledPlugins;
  readonly #refused = new Map<string, RefusedPlugin>();
  readonly #contributions: ServedContributions;
  readonly #states: ProcessStates;
  #stopping = false;
  #following: CachedValue | undefined;

  private constructor(options: PluginManagerOptions) {
    this.#options = options;
    this.#contributions = new ServedContributions(options);
    this.#states = new ProcessStates(options);
    this.#installed = new InstalledPlugins({
      ...options,
      contributions: this.#contributions,
      states: this.#states,
      load: (...args) => this.#load(...args),
    });
  }

  /** Loads all plugins, then follows changes in the database by notifications, and by regular checks in case one is lost. */
  static async open(options: PluginManagerOptions): Promise<PluginManager> {
    const manager = new PluginManager(options);
    for (const specifier of options.specifiers) await manager.#loadSpecifier(specifier);
    manager.#following = await openCachedValue({
      name: "plugins",
      topic: [],
      read: () => manager.#follow(),
      bus: options.bus,
      log: options.log,
    });
    options.bus.on("plugins", (payload) => (payload === "" ? manager.refresh() : manager.restart(payload)));
    return manager;
  }

  /** Plugins that could not be loaded, by id or by the name that the operator gave. */
  get refused(): ReadonlyMap<string, RefusedPlugin> {
    return new Map([...this.#refused, ...this.#installed.refused]);
  }
  /** The plugins that the environment names, except those that could not be loaded. */
  fromEnvironment(): readonly LoadedThirdParty[] {
    return [...this.#fromEnvironment.values()];
  }
  all(): readonly LoadedThirdParty[] {
    return [...this.#fromEnvironment.values(), ...this.#installed.all()];
  }
  runningPlugin(id: string): LoadedThirdParty | undefined {
    return this.#installed.find(id) ?? this.#fromEnvironment.get(id);
  }
  /** Contributions of a plugin that are not available because another plugin has their names: `queues.audit`. */
  skippedContributions(id: string): readonly string[] {
    return this.#contributions.skippedNames(id);
  }
  /** Why the newest version or settings of a plugin are not in use although they should be. */
  failedUpgrade(id: string): { readonly code: string; readonly reason: string } | undefined {
    return this.#installed.failedUpgrades.of(id);
  }
  /** Whether this id is not available for an installed plugin. */
  isTaken(id: string): boolean {
    return this.#options.builtIns.has(id) || this.#fromEnvironment.has(id);
  }
  /** The isolation layers of sandboxed plugins on this replica. */
  async isolation(): Promise<{ required: boolean; layers: IsolationLayer[] }> {
    const { deno, requiresIsolation = false } = this.#options.dependencies;
    const { file } = cachedBundle(new TextEncoder().encode("export {};\n"));
    const layers = await workingIsolation(file, deno).then(
      (working) => working.layers,
      (error) => {
        if (error instanceof Refusal) return unusableLayers(error.message);
        throw error;
      },
    );
    return { required: requiresIsolation, layers: [...layers] };
  }
  /** Called whenever a process changes its state. */
  onState(listener: StateListener): void {
    this.#states.onState(listener);
  }

  /** Starts a version once on trial, with these stored settings if given. Throws a `Refusal` if it does not start. */
  async trial(plugin: PluginFiles, stored?: Settings): Promise<void> {
    const id = plugin.manifest?.id ?? plugin.name;
    const candidate = await this.#load(plugin, id, stored ?? this.#options.settings.get(id) ?? {});
    try {
      await candidate.process?.start();
      requireReady(candidate.process?.status());
    } finally {
      await candidate.process?.stop();
    }
  }

  /** Applies the state in the database to this replica. */
  async refresh(): Promise<void> {
    await this.#following?.refresh();
  }

  /** Starts a process that is not running, and retries a failed upgrade. */
  async restart(id: string): Promise<void> {
    if (this.#installed.failedUpgrades.forget(id)) return this.refresh();
    const process = this.runningPlugin(id)?.process;
    if (process && !isServing(process)) await process.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#following?.close();
    // The refresh in progress must not start further processes.
    await this.refresh().catch(() => {});
    await Promise.all(this.all().map(({ process }) => process?.stop()));
  }

  async #follow(): Promise<void> {
    if (!this.#stopping) await this.#installed.follow();
  }

  async #loadSpecifier(specifier: string): Promise<void> {
    try {
      const plugin = await this.#load(await readPluginFiles(specifier), "");
      this.#fromEnvironment.set(plugin.manifest.id, plugin);
      await plugin.process?.start();
      requireReady(plugin.process?.status());
      await this.#contributions.serve(plugin);
    } catch (error) {
      const refused = refusedPlugin(specifier, error);
      this.#refused.set(specifier, refused);
      this.#options.log.error("plugin refused", { ...refused });
    }
  }

  /** `replaced`: an id that the plugin may have although it is taken. `stored`: settings to use in place of the current ones. */
  async #load(plugin: PluginFiles, replaced: string, stored?: Settings): Promise<LoadedThirdParty> {
    const { dependencies, environment } = this.#options;
    const own = stored && { ...dependencies, settingsOf: (id: string) => ({ ...environment(id), ...stored }) };
    let loaded: LoadedThirdParty | undefined;
    loaded = await loadThirdParty(plugin, this.#takenIds(replaced), {
      ...this.#options,
      dependencies: own ?? dependencies,
      // A process on trial reports only to its trial.
      onStatus: ({ id }, status) => {
        const process = loaded?.process;
        if (this.#stopping || !process || this.runningPlugin(id)?.process !== process) return;
        this.#states.recordStatus(loaded as LoadedThirdParty, process, status, this.#installed.find(id) !== undefined);
      },
    });
    return loaded;
  }

  /** The plugins whose processes are not running on this replica now. */
  notServing(): { id: string; state: "backoff" | "quarantined" }[] {
    return this.all().flatMap(({ manifest, process }) => {
      const state = process?.status().state;
      return state === "backoff" || state === "quarantined" ? [{ id: manifest.id, state }] : [];
    });
  }

  #takenIds(replaced: string): Set<string> {
    const others = this.all().flatMap(({ manifest: { id } }) => (id === replaced ? [] : id));
    return new Set([...this.#options.builtIns, ...others]);
  }
}
