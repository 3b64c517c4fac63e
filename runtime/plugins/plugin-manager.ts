import { PluginError } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { Refusal } from "./admit.ts";
import { cachedBundle } from "./bundle-cache.ts";
import type { Host } from "./host.ts";
import { type Refused, refusalOf } from "./load.ts";
import { type LoadedThirdParty, type LoadThirdPartyOptions, loadThirdParty } from "./load-third-party.ts";
import { allPlugins, allVersions, findBundle, type PluginRow, setQuarantine, type VersionRow } from "./queries.ts";
import { restrictPermissions } from "./restrict-permissions.ts";
import { type IsolationLayer, workingIsolation } from "./sandbox/isolation.ts";
import type { ProcessStatus, Supervised } from "./sandbox/supervise.ts";
import { readThirdParty, type ThirdPartyPlugin } from "./third-party.ts";

type Settings = Readonly<Record<string, string>>;
type StateListener = (id: string, status: ProcessStatus) => void;

export interface PluginManagerOptions extends Omit<LoadThirdPartyOptions, "changed"> {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly host: Host;
  readonly specifiers: readonly string[];
  /** Ids of the plugins that come with the service. */
  readonly builtIns: ReadonlySet<string>;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  /** Called when the host's contributions changed. */
  readonly contributed: () => Promise<void> | void;
  /** The stored settings of each plugin that serves. */
  readonly settings: Map<string, Settings>;
  /** A plugin's settings from the environment; stored ones win. */
  readonly environment: (id: string) => Settings;
  readonly sweepMs?: number;
}

export const settingsPurpose = (id: string): string => `plugin ${id}`;

interface Installed extends LoadedThirdParty {
  readonly row: PluginRow;
}
/** A change that could not start; the version that served before still serves. */
interface FailedUpgrade {
  readonly row: PluginRow;
  readonly code: string;
  readonly reason: string;
}

/** The third-party plugins of this replica: those that the environment names, then those that the database holds. */
export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #fromEnvironment = new Map<string, LoadedThirdParty>();
  readonly #installed = new Map<string, Installed>();
  readonly #refused = new Map<string, Refused>();
  readonly #skipped = new Map<string, readonly string[]>();
  readonly #failedUpgrades = new Map<string, FailedUpgrade>();
  readonly #listeners: StateListener[] = [];
  /** Processes whose quarantine is being stored. */
  readonly #storing = new Set<Supervised>();
  #stopping = false;
  /** Refreshes run one after the other, so that an older answer never replaces a newer one. */
  #lastRefresh: Promise<void> = Promise.resolve();
  #sweep: ReturnType<typeof setInterval> | undefined;

  private constructor(options: PluginManagerOptions) {
    this.#options = options;
  }

  /** Loads all plugins, then follows the database: by notification, and by a sweep in case a notification is lost. */
  static async open(options: PluginManagerOptions): Promise<PluginManager> {
    const manager = new PluginManager(options);
    for (const specifier of options.specifiers) await manager.#loadSpecifier(specifier);
    await manager.refresh();
    options.bus.on("plugins", (payload) => (payload === "" ? manager.refresh() : manager.restart(payload)));
    const sweep = () => manager.refresh().catch((error) => options.log.warn("failed to refresh plugins", { error }));
    manager.#sweep = setInterval(() => void sweep(), options.sweepMs ?? 30_000);
    return manager;
  }

  /** Plugins that could not be loaded, by id or by the name that the operator gave. */
  get refused(): ReadonlyMap<string, Refused> {
    return this.#refused;
  }
  /** The plugins that the environment names, where they could be loaded. */
  fromEnvironment(): readonly LoadedThirdParty[] {
    return [...this.#fromEnvironment.values()];
  }
  all(): readonly LoadedThirdParty[] {
    return [...this.#fromEnvironment.values(), ...this.#installed.values()];
  }
  running(id: string): LoadedThirdParty | undefined {
    return this.#installed.get(id) ?? this.#fromEnvironment.get(id);
  }
  /** Contributions of a plugin that are not in service, because another plugin has their names: `queues.audit`. */
  skippedContributions(id: string): readonly string[] {
    return this.#skipped.get(id) ?? [];
  }
  /** Why the newest version or settings of a plugin do not serve although they should. */
  failedUpgrade(id: string): { readonly code: string; readonly reason: string } | undefined {
    return this.#failedUpgrades.get(id);
  }
  /** Whether an installed plugin cannot have this id. */
  isTaken(id: string): boolean {
    return this.#options.builtIns.has(id) || this.#fromEnvironment.has(id);
  }
  /** The isolation layers of sandboxed plugins here. */
  async isolation(): Promise<{ required: boolean; layers: IsolationLayer[] }> {
    const { deno, requiresIsolation = false } = this.#options.dependencies;
    const { file } = cachedBundle(new TextEncoder().encode("export {};\n"));
    return { required: requiresIsolation, layers: [...(await workingIsolation(file, deno)).layers] };
  }
  /** Called whenever a process changes its state. */
  onState(listener: StateListener): void {
    this.#listeners.push(listener);
  }

  /** Starts a version once without serving it, with these stored settings where given. Throws a `Refusal` if it does not start. */
  async trial(plugin: ThirdPartyPlugin, stored?: Settings): Promise<void> {
    const id = plugin.manifest?.id ?? plugin.name;
    const candidate = await this.#load(plugin, id, stored ?? this.#options.settings.get(id) ?? {});
    try {
      await candidate.process?.start();
      requireReady(candidate.process?.status());
    } finally {
      await candidate.process?.stop();
    }
  }

  /** Brings this replica to the state in the database. */
  refresh(): Promise<void> {
    this.#lastRefresh = this.#lastRefresh.catch(() => {}).then(() => this.#followDatabase());
    return this.#lastRefresh;
  }

  /** Starts a process that does not serve, and tries a failed upgrade again. */
  async restart(id: string): Promise<void> {
    if (this.#failedUpgrades.delete(id)) return this.refresh();
    const process = this.running(id)?.process;
    if (process && !isServing(process)) await process.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#sweep);
    await this.#lastRefresh.catch(() => {});
    await Promise.all(this.all().map(({ process }) => process?.stop()));
  }

  async #followDatabase(): Promise<void> {
    if (this.#stopping) return;
    const { sql, specifiers } = this.#options;
    const [rows, versions] = await Promise.all([allPlugins(sql), allVersions(sql)]);
    const wanted = new Map(rows.filter((row) => row.enabled && row.version !== null).map((row) => [row.id, row]));
    for (const id of this.#installed.keys()) if (!wanted.has(id)) await this.#unload(id);
    for (const row of wanted.values()) {
      const current = this.#installed.get(row.id);
      if (current && isSame(row, current.row)) this.#followRow(current, row);
      else {
        const version = versions.find((one) => one.plugin_id === row.id && one.version === row.version);
        if (version) await this.#loadInstalled(row, version, current);
      }
    }
    for (const id of this.#refused.keys()) if (!wanted.has(id) && !specifiers.includes(id)) this.#refused.delete(id);
  }

  /** Applies what another replica, or an operator, decided about a plugin that is loaded here. */
  #followRow({ process, manifest }: Installed, { quarantine_code, quarantine_reason }: PluginRow): void {
    this.#failedUpgrades.delete(manifest.id);
    const isQuarantined = process?.status().state === "quarantined";
    if (quarantine_code !== null && !isQuarantined) process?.quarantine(quarantine_code, quarantine_reason ?? "");
    else if (quarantine_code === null && isQuarantined && process && !this.#storing.has(process)) void process.start();
  }

  async #loadSpecifier(specifier: string): Promise<void> {
    try {
      const plugin = await this.#load(await readThirdParty(specifier), "");
      this.#fromEnvironment.set(plugin.manifest.id, plugin);
      await plugin.process?.start();
      requireReady(plugin.process?.status());
      await this.#contribute(plugin);
    } catch (error) {
      this.#refuse(specifier, error);
    }
  }

  /** Loads a version with its settings. One that replaces a serving version is started first, and dropped if that fails. */
  async #loadInstalled(row: PluginRow, version: VersionRow, current: Installed | undefined): Promise<void> {
    const failed = this.#failedUpgrades.get(row.id);
    if (current && failed && isSame(row, failed.row)) return;
    let candidate: LoadedThirdParty | undefined;
    try {
      const settings = await settingsOf(row, this.#options.vault);
      const bytes = await findBundle(this.#options.sql, row.id, version.version);
      if (!bytes) return;
      const manifest = restrictPermissions(version.manifest, row.denied);
      candidate = await this.#load({ name: row.id, bytes: new Uint8Array(bytes), manifest }, row.id, settings);
      requireDigest(version, candidate.sha256);
      if (current && serves(current) && row.quarantine_code === null) {
        await candidate.process?.start();
        requireReady(candidate.process?.status());
      }
      await this.#replace(row, candidate, settings, current);
    } catch (error) {
      void candidate?.process?.stop();
      if (current && serves(current)) this.#keepCurrent(row, current, error);
      else {
        if (current) await this.#unload(row.id);
        const reason = error instanceof Error ? error.message : String(error);
        if (this.#refused.get(row.id)?.reason !== reason) this.#refuse(row.id, error);
      }
    }
  }

  async #replace(row: PluginRow, candidate: LoadedThirdParty, settings: Settings, current?: Installed): Promise<void> {
    const { id } = row;
    this.#options.settings.set(id, settings);
    this.#installed.set(id, { ...candidate, row });
    this.#refused.delete(id);
    this.#failedUpgrades.delete(id);
    this.#options.host.remove(id);
    const { process } = candidate;
    // A quarantined plugin keeps its names: its webhooks are deferred, and its tools say why they do not serve.
    if (row.quarantine_code !== null) process?.quarantine(row.quarantine_code, row.quarantine_reason ?? "");
    else void process?.start();
    await this.#contribute(candidate);
    if (process && isServing(process)) this.#notify(id, process.status());
    // The old process finishes its calls; the new one serves already.
    void current?.process?.stop();
  }

  #keepCurrent(row: PluginRow, current: Installed, error: unknown): void {
    const { code, reason } = refusalOf(row.id, error);
    const serving = current.manifest.version;
    const what = row.version === serving ? "its new settings or permissions" : `version ${row.version}`;
    const message = `${what} could not start (${code}: ${reason}); ${serving} keeps serving`;
    this.#failedUpgrades.set(row.id, { row, code, reason: message });
    this.#options.watchdog("a plugin's upgrade failed to start", { plugin: row.id, version: row.version, serving, code, reason });
  }

  async #unload(id: string): Promise<void> {
    const plugin = this.#installed.get(id);
    if (!plugin) return;
    this.#installed.delete(id);
    this.#skipped.delete(id);
    this.#failedUpgrades.delete(id);
    this.#options.settings.delete(id);
    this.#options.host.remove(id);
    await this.#options.contributed();
    // Its calls finish in the background.
    void plugin.process?.stop();
  }

  /** `replaced`: the id that the plugin may have although it is taken. `stored`: settings in place of those that serve. */
  async #load(plugin: ThirdPartyPlugin, replaced: string, stored?: Settings): Promise<LoadedThirdParty> {
    const { dependencies, environment } = this.#options;
    const own = stored && { ...dependencies, settingsOf: (id: string) => ({ ...environment(id), ...stored }) };
    let loaded: LoadedThirdParty | undefined;
    loaded = await loadThirdParty(plugin, this.#takenIds(replaced), {
      ...this.#options,
      dependencies: own ?? dependencies,
      // A process that does not serve yet reports to nothing but its trial.
      changed: ({ id }, status) => {
        const process = loaded?.process;
        if (process && this.running(id)?.process === process) this.#stateChanged(loaded as LoadedThirdParty, process, status);
      },
    });
    return loaded;
  }

  #takenIds(replaced: string): Set<string> {
    const others = [...this.#fromEnvironment.keys(), ...this.#installed.keys()].filter((id) => id !== replaced);
    return new Set([...this.#options.builtIns, ...others]);
  }

  async #contribute({ manifest: { id }, loaded }: LoadedThirdParty): Promise<void> {
    const skipped = this.#options.host.add(loaded);
    this.#skipped.set(id, skipped);
    if (skipped.length > 0)
      this.#options.watchdog("a plugin's contributions have names that another plugin has", { plugin: id, skipped });
    await this.#options.contributed();
  }

  #notify(id: string, status: ProcessStatus): void {
    for (const listener of this.#listeners) listener(id, status);
  }

  #stateChanged({ manifest: { id, version } }: LoadedThirdParty, process: Supervised, status: ProcessStatus): void {
    if (this.#stopping) return;
    const { watchdog, sql, bus, log } = this.#options;
    this.#notify(id, status);
    const { state, code, reason, crashes } = status;
    if (state === "backoff") watchdog("a plugin's process ended", { plugin: id, version, code, reason, crashes });
    if (state !== "quarantined") return;
    watchdog("a plugin was quarantined", { plugin: id, version, code, reason, crashes });
    if (!this.#installed.has(id)) return;
    this.#storing.add(process);
    setQuarantine(sql, id, version, code ?? "PLUGIN_CRASHED", reason ?? "")
      .then(() => this.#storing.delete(process))
      .then(() => bus.publish("plugins"))
      .catch((error) => log.warn("failed to store a plugin's quarantine", { plugin: id, error }));
  }

  #refuse(name: string, error: unknown): void {
    const refused = refusalOf(name, error);
    this.#refused.set(name, refused);
    this.#options.log.error("plugin refused", { ...refused });
  }
}

const isServing = (process: Supervised): boolean => ["ready", "degraded"].includes(process.status().state);

/** A trusted plugin has no process, and serves while it is loaded. */
const serves = ({ process }: LoadedThirdParty): boolean => process === null || isServing(process);

function requireReady(status: ProcessStatus | undefined): void {
  if (status && status.state !== "ready")
    throw new Refusal((status.code ?? "SETUP_FAILED") as never, status.reason ?? "The plugin did not start.");
}

function requireDigest({ manifest: { bundle } }: VersionRow, sha256: string): void {
  if (sha256 === bundle.sha256) return;
  throw new Refusal("MODIFIED", `Expected a bundle with SHA-256 ${bundle.sha256}; the database has ${sha256}.`);
}

const isSame = (one: PluginRow, other: PluginRow): boolean =>
  one.version === other.version && one.settings === other.settings && JSON.stringify(one.denied) === JSON.stringify(other.denied);

async function settingsOf(row: PluginRow, vault: Vault): Promise<Record<string, string>> {
  if (row.settings === null) return {};
  try {
    return (await vault.open(row.settings, settingsPurpose(row.id))) as Record<string, string>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new PluginError("not_configured", `The stored settings of ${row.id} cannot be decrypted: ${reason}`);
  }
}
