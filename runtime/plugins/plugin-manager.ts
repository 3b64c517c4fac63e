import { PluginError } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { Refusal } from "./admit.ts";
import type { Host } from "./host.ts";
import { type Refused, refusalOf } from "./load.ts";
import { allPlugins, allVersions, findBundle, type PluginRow, setQuarantine, type VersionRow } from "./queries.ts";
import { narrowed } from "./restrict-permissions.ts";
import { type Running, type TakeInOptions, takeIn } from "./running.ts";
import type { ProcessStatus, Supervised } from "./sandbox/supervise.ts";
import { type Foreign, readForeign } from "./third-party.ts";

/** The plugins of others that serve on this replica. */
export interface Fleet {
  /** Those that the environment names, and, where they were taken in, how they run. */
  fromEnvironment(): readonly Running[];
  running(id: string): Running | undefined;
  all(): readonly Running[];
  /** Contributions of a plugin that are not in service, because another has their names: `queues.audit`. */
  leftOut(id: string): readonly string[];
  /** Plugins that could not be taken in, by id or by the name that the operator gave. */
  readonly refused: ReadonlyMap<string, Refused>;
  /** Tries a version before it serves. Throws a `Refusal`. */
  trial(foreign: Foreign): Promise<void>;
  /** Ids that an installed plugin cannot have. */
  isTaken(id: string): boolean;
  /** Brings this replica to what the database says. */
  refresh(): Promise<void>;
  /** Starts a process that does not serve, at once. */
  restart(id: string): Promise<void>;
  /** Called whenever a process changed its state. */
  onState(listener: (id: string, status: ProcessStatus) => void): void;
  stop(): Promise<void>;
}

export interface FleetOptions extends Omit<TakeInOptions, "changed"> {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly host: Host;
  readonly specifiers: readonly string[];
  /** Ids of the plugins that come with the service. */
  readonly builtIns: ReadonlySet<string>;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  /** The host has other contributions than before. */
  readonly contributed: () => Promise<void> | void;
  /** Receives the stored settings of each plugin before it starts. */
  readonly settings: Map<string, Readonly<Record<string, string>>>;
  readonly sweepMs?: number;
}

export const settingsPurpose = (id: string): string => `plugin ${id}`;

interface Installed extends Running {
  readonly row: PluginRow;
}

/** Takes in what the environment names, then what the database holds; the sweep is for a notification that got lost. */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { sql, bus, log, host, builtIns, watchdog } = options;
  const own = new Map<string, Running>();
  const installed = new Map<string, Installed>();
  const refused = new Map<string, Refused>();
  const listeners: ((id: string, status: ProcessStatus) => void)[] = [];
  /** Processes whose quarantine is on its way to the database. */
  const keeping = new Set<Supervised>();
  let stopping = false;

  const leftOut = new Map<string, readonly string[]>();
  const changed: TakeInOptions["changed"] = ({ id, version }, status) => {
    if (stopping) return;
    for (const listener of listeners) listener(id, status);
    const { state, code, reason, crashes } = status;
    if (state === "backoff") watchdog("a plugin's process ended", { plugin: id, version, code, reason, crashes });
    if (state !== "quarantined") return;
    watchdog("a plugin was quarantined", { plugin: id, version, code, reason, crashes });
    const process = installed.get(id)?.process;
    if (!process) return;
    keeping.add(process);
    setQuarantine(sql, id, version, code ?? "PLUGIN_CRASHED", reason ?? "")
      .then(() => keeping.delete(process))
      .then(() => bus.publish("plugins"))
      .catch((error) => log.warn("a quarantine was not kept", { plugin: id, error }));
  };
  const taken = (but: string) => new Set([...builtIns, ...[...own.keys(), ...installed.keys()].filter((id) => id !== but)]);
  const enter = async (running: Running) => {
    const left = host.add(running.loaded);
    leftOut.set(running.manifest.id, left);
    if (left.length > 0)
      watchdog("a plugin's contributions have names that another plugin has", { plugin: running.manifest.id, left });
    await options.contributed();
  };
  const refuse = (name: string, error: unknown) => {
    const one = refusalOf(name, error);
    refused.set(name, one);
    log.error("plugin refused", { ...one });
  };

  const takeOwn = async (specifier: string) => {
    try {
      const running = await takeIn(await readForeign(specifier), taken(""), { ...options, changed });
      own.set(running.manifest.id, running);
      await running.process?.start();
      mustBeReady(running.process?.status());
      await enter(running);
    } catch (error) {
      refuse(specifier, error);
    }
  };

  const startInstalled = async (row: PluginRow, version: VersionRow) => {
    try {
      options.settings.set(row.id, await settingsOf(row, options.vault));
      const bytes = await findBundle(sql, row.id, version.version);
      if (!bytes) return;
      const manifest = narrowed(version.manifest, row.denied);
      const running = await takeIn({ name: row.id, bytes: new Uint8Array(bytes), manifest }, taken(row.id), {
        ...options,
        changed,
      });
      if (running.sha256 !== version.manifest.bundle.sha256)
        throw new Refusal(
          "MODIFIED",
          `Expected a bundle with SHA-256 ${version.manifest.bundle.sha256}; the database has ${running.sha256}.`,
        );
      installed.set(row.id, { ...running, row });
      refused.delete(row.id);
      // What is quarantined keeps its names: its webhooks are kept, its tools say why they do not serve.
      if (row.quarantine_code !== null) running.process?.quarantine(row.quarantine_code, row.quarantine_reason ?? "");
      else void running.process?.start();
      await enter(running);
    } catch (error) {
      const known = refused.get(row.id);
      const message = error instanceof Error ? error.message : String(error);
      if (known?.reason !== message) refuse(row.id, error);
    }
  };
  const leave = async (id: string) => {
    const running = installed.get(id);
    if (!running) return;
    installed.delete(id);
    leftOut.delete(id);
    host.remove(id);
    await options.contributed();
    // Drains in the background: what replaces it serves already.
    void running.process?.stop();
  };
  /** What another replica, or an operator, decided about a plugin that is taken in here. */
  const follow = ({ process }: Installed, { quarantine_code, quarantine_reason }: PluginRow) => {
    const isQuarantined = process?.status().state === "quarantined";
    if (quarantine_code !== null && !isQuarantined) process?.quarantine(quarantine_code, quarantine_reason ?? "");
    else if (quarantine_code === null && isQuarantined && process && !keeping.has(process)) void process.start();
  };
  const load = async () => {
    if (stopping) return;
    const [rows, versions] = await Promise.all([allPlugins(sql), allVersions(sql)]);
    const wanted = new Map(rows.filter((row) => row.enabled && row.version !== null).map((row) => [row.id, row]));
    for (const [id, running] of installed) {
      const row = wanted.get(id);
      if (row && isSame(row, running.row)) follow(running, row);
      else await leave(id);
    }
    for (const row of wanted.values()) {
      const version = versions.find((one) => one.plugin_id === row.id && one.version === row.version);
      if (version && !installed.has(row.id)) await startInstalled(row, version);
    }
    for (const id of refused.keys()) if (!wanted.has(id) && !options.specifiers.includes(id)) refused.delete(id);
  };
  // One after the other, so that an older answer never replaces a newer one.
  let last: Promise<void> = Promise.resolve();
  const refresh = () => {
    last = last.catch(() => {}).then(load);
    return last;
  };

  for (const specifier of options.specifiers) await takeOwn(specifier);
  await refresh();
  const restart = async (id: string) => {
    const process = (installed.get(id) ?? own.get(id))?.process;
    if (process && !["ready", "degraded"].includes(process.status().state)) await process.start();
  };
  bus.on("plugins", (payload) => (payload === "" ? refresh() : restart(payload)));
  const timer = setInterval(
    () => void refresh().catch((error) => log.warn("plugins not refreshed", { error })),
    options.sweepMs ?? 30_000,
  );
  return {
    refused,
    fromEnvironment: () => [...own.values()],
    all: () => [...own.values(), ...installed.values()],
    running: (id) => installed.get(id) ?? own.get(id),
    leftOut: (id) => leftOut.get(id) ?? [],
    isTaken: (id) => builtIns.has(id) || own.has(id),
    trial: async (foreign) => {
      const id = foreign.manifest?.id ?? "";
      const running = await takeIn(foreign, taken(id), { ...options, changed: () => {} });
      await running.process?.start();
      const status = running.process?.status();
      await running.process?.stop();
      mustBeReady(status);
    },
    refresh,
    restart,
    onState: (listener) => void listeners.push(listener),
    stop: async () => {
      stopping = true;
      clearInterval(timer);
      await last.catch(() => {});
      await Promise.all([...own.values(), ...installed.values()].map(({ process }) => process?.stop()));
    },
  };
}

function mustBeReady(status: ProcessStatus | undefined): void {
  if (status && status.state !== "ready")
    throw new Refusal((status.code ?? "SETUP_FAILED") as never, status.reason ?? "It did not start.");
}

const isSame = (one: PluginRow, other: PluginRow): boolean =>
  one.version === other.version && one.settings === other.settings && JSON.stringify(one.denied) === JSON.stringify(other.denied);

async function settingsOf(row: PluginRow, vault: Vault): Promise<Record<string, string>> {
  if (row.settings === null) return {};
  try {
    return (await vault.open(row.settings, settingsPurpose(row.id))) as Record<string, string>;
  } catch (error) {
    throw new PluginError(
      "not_configured",
      `Its stored settings cannot be used: ${error instanceof Error ? error.message : error}`,
    );
  }
}
