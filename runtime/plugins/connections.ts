import type { Config } from "../platform/config.ts";
import { firstProblem } from "../platform/issue-text.ts";
import type { Log } from "../platform/log.ts";
import type { Host, SourceEntry } from "./host.ts";
import { hostsIn } from "./settings-hosts.ts";

/** An account at a platform, ready for calls. */
export interface Connection {
  /** `environment`, or the id of an integration. */
  readonly id: string;
  readonly source: SourceEntry;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The settings as they were entered, without defaults. */
  readonly rawSettings: Readonly<Record<string, unknown>>;
  /** The settings that are missing for posting. */
  readonly missingSettings: readonly string[];
}

/** The path segment of a connection's webhook: the id of its integration, or else the name of its source. */
export const slugOf = ({ id, source }: Pick<Connection, "id" | "source">): string => (id === "environment" ? source.name : id);

/** Parses raw settings by the source's own schema. Throws an Error that names the setting, never its value. */
export function parseConnection(id: string, source: SourceEntry, rawSettings: Readonly<Record<string, unknown>>): Connection {
  const parsed = source.adapter.connection.safeParse(rawSettings);
  if (!parsed.success) {
    const { path, text } = firstProblem(parsed.error);
    const setting = path ? `the setting ${path} is not valid` : "the settings are not valid";
    throw new Error(`${source.name}: ${setting}: ${text}`);
  }
  const settings = parsed.data as Record<string, unknown>;
  const missingSettings = source.adapter.required.filter((name) => settings[name] === undefined || settings[name] === "");
  return Object.freeze({ id, source, settings, rawSettings, missingSettings });
}

/** The settings that the operator entered, without the schema's defaults. */
const namedSettings = ({ settings, rawSettings }: Connection): Record<string, unknown> =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(rawSettings, name)));

/** The facts that determine which account an execution uses. */
export interface AccountChoice {
  /** Path segment of the webhook that started the execution. */
  readonly slug: string | null;
  readonly project_id: number | null;
}

/** The connections of stored integrations. */
export interface StoredConnections {
  find(id: string): Promise<Connection | undefined>;
  /** The account for work at a source: that of its webhook, or else the agent's, or else the project's. */
  forWork(source: string, work: AccountChoice, agentId: string | null): Connection | null;
  ofPlugin(plugin: string): readonly Connection[];
}

/** All connections, with a function for each kind of lookup. */
export interface Connections {
  /** The account whose webhooks are received at `/webhook/<slug>`. */
  bySlug(slug: string): Promise<Connection | undefined>;
  /** The account that an execution uses at `source`; `null` if no plugin contributes this source. */
  forExecution(source: string, work?: AccountChoice, agentId?: string | null): Promise<Connection | null>;
  /** The settings of a source from the environment. */
  environmentOf(source: SourceEntry): Readonly<Record<string, unknown>>;
  /** The connection from the environment. */
  environment(source: string): Connection | undefined;
  /** Hosts in connections from the environment. A plugin's `fetch` may reach them at any address. */
  hostsOf(plugin: string): readonly string[];
  /** Hosts that it may reach only at public addresses: those of integrations, and defaults of a third-party plugin's settings. */
  userHostsOf(plugin: string): readonly string[];
  /** Settings of a third-party plugin. */
  pluginSettings(plugin: string): Readonly<Record<string, string>>;
  /** Those from the environment and those that users stored. */
  everyAccount(): readonly Connection[];
  /** Those from the environment. */
  fromEnvironment(): readonly Connection[];
  /** Every connection of a source: from the environment and from integrations. */
  ofSource(source: string): readonly Connection[];
  /** Called when plugins are loaded, and again whenever they change. */
  use(host: Host, stored: StoredConnections): void;
}

const noWork: AccountChoice = { slug: null, project_id: null };

/** The connections from the environment (`ALPHA_TOKEN` is the setting `token` of alpha) and from integrations. */
export function connectionsOf(
  config: Pick<Config, "variablesOf">,
  log: Pick<Log, "error">,
  pluginSettingsOf: (plugin: string) => Readonly<Record<string, string>>,
): Connections {
  let environmentConnections: ReadonlyMap<string, Connection> = new Map();
  let integrations: StoredConnections | null = null;
  const environmentOf = ({ builtIn, name, plugin }: SourceEntry) =>
    builtIn ? config.variablesOf(name) : pluginSettingsOf(plugin);
  const ofPlugin = (plugin: string) => [...environmentConnections.values()].filter((one) => one.source.plugin === plugin);
  return {
    environmentOf,
    bySlug: async (slug) => environmentConnections.get(slug) ?? integrations?.find(slug),
    forExecution: async (source, work = noWork, agentId = null) =>
      integrations?.forWork(source, work, agentId) ?? environmentConnections.get(source) ?? null,
    environment: (source) => environmentConnections.get(source),
    pluginSettings: pluginSettingsOf,
    everyAccount: () => {
      const plugins = new Set([...environmentConnections.values()].map(({ source }) => source.plugin));
      return [...environmentConnections.values(), ...[...plugins].flatMap((plugin) => integrations?.ofPlugin(plugin) ?? [])];
    },
    fromEnvironment: () => [...environmentConnections.values()],
    ofSource: (name) => {
      const configured = environmentConnections.get(name);
      const accounts = configured ? integrations?.ofPlugin(configured.source.plugin) : undefined;
      return [...(configured ? [configured] : []), ...(accounts ?? []).filter(({ source }) => source.name === name)];
    },
    hostsOf: (plugin) => ofPlugin(plugin).flatMap((one) => hostsIn(one.source.builtIn ? one.settings : namedSettings(one))),
    userHostsOf: (plugin) => [
      ...(integrations?.ofPlugin(plugin) ?? []).flatMap((one) => hostsIn(one.settings)),
      ...ofPlugin(plugin).flatMap((one) => (one.source.builtIn ? [] : hostsIn(one.settings))),
    ],
    use: (host, storedConnections) => {
      integrations = storedConnections;
      const entries = [...host.sources].flatMap(([name, entry]) => {
        const known = environmentConnections.get(name);
        if (known?.source === entry) return [[name, known] as const];
        try {
          return [[name, parseConnection("environment", entry, environmentOf(entry))] as const];
        } catch (error) {
          if (entry.builtIn) throw error;
          // Invalid settings of a third-party plugin must not prevent the service's start.
          log.error("a plugin's settings are not valid", { plugin: entry.plugin, error: String(error) });
          return [];
        }
      });
      environmentConnections = new Map(entries);
    },
  };
}
