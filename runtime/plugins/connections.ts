import type { Config } from "../platform/config.ts";
import type { Log } from "../platform/log.ts";
import type { Host, SourceEntry } from "./host.ts";
import { hostsIn } from "./settings-hosts.ts";

/** One account at a platform, ready for calls. */
export interface Connection {
  /** `environment`, or the id of an integration. */
  readonly id: string;
  readonly source: SourceEntry;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The settings as they were given, without defaults. */
  readonly given: Readonly<Record<string, unknown>>;
  /** The settings that are missing before anything can be posted. */
  readonly missing: readonly string[];
}

/** Parses raw settings by the source's own schema. Throws an Error that names the setting, never its value. */
export function connection(id: string, source: SourceEntry, raw: Readonly<Record<string, unknown>>): Connection {
  const parsed = source.adapter.connection.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${source.name}: the setting ${issue?.path.join(".") || "(all)"} is not valid: ${issue?.message}`);
  }
  const settings = parsed.data as Record<string, unknown>;
  const missing = source.adapter.required.filter((name) => settings[name] === undefined || settings[name] === "");
  return Object.freeze({ id, source, settings, given: raw, missing });
}

/** The settings that the operator gave a value, without the schema's defaults. */
const namedSettings = ({ settings, given }: Connection): Record<string, unknown> =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(given, name)));

/** What decides which account an execution uses. */
export interface Work {
  /** Path segment of the webhook that started it. */
  readonly slug: string | null;
  readonly project_id: number | null;
}

/** The connections that users stored. */
export interface StoredConnections {
  find(id: string): Promise<Connection | undefined>;
  /** The account for work at a source: that of its webhook, else the agent's, else the project's. */
  forWork(source: string, work: Work, agentId: string | null): Connection | null;
  ofPlugin(plugin: string): readonly Connection[];
}

/** Every connection there is, by what asks for it. */
export interface Connections {
  /** The account whose webhooks come in by `/webhook/<slug>`. */
  bySlug(slug: string): Promise<Connection | undefined>;
  /** The account that an execution uses at `source`; `null`: no plugin contributes this source. */
  forExecution(source: string, work?: Work, agentId?: string | null): Promise<Connection | null>;
  /** The settings of a source that the environment names. */
  environmentOf(source: SourceEntry): Readonly<Record<string, unknown>>;
  /** That of the environment. */
  environment(source: string): Connection | undefined;
  /** Hosts that the operator named in a connection of the environment; a plugin's `fetch` may reach them wherever they are. */
  hostsOf(plugin: string): readonly string[];
  /** Hosts that it may reach where they are public: those of integrations, and defaults of a third-party plugin's settings. */
  givenHostsOf(plugin: string): readonly string[];
  /** Settings of a third-party plugin. */
  pluginSettings(plugin: string): Readonly<Record<string, string>>;
  /** Those from the environment, and those that users stored. */
  everyAccount(): readonly Connection[];
  /** Those from the environment. */
  all(): readonly Connection[];
  /** Every connection of a source: that of the environment, and those of integrations. */
  ofSource(source: string): readonly Connection[];
  /** Called when the plugins are loaded, and again whenever there are others. */
  use(host: Host, stored: StoredConnections): void;
}

const noWork: Work = { slug: null, project_id: null };

/** The connections from the environment (`ALPHA_TOKEN` is the setting `token` of alpha), and those that users stored. */
export function connectionsOf(
  config: Pick<Config, "variablesOf">,
  log: Pick<Log, "error">,
  pluginSettingsOf: (plugin: string) => Readonly<Record<string, string>>,
): Connections {
  let all: ReadonlyMap<string, Connection> = new Map();
  let stored: StoredConnections | null = null;
  const environmentOf = ({ builtIn, name, plugin }: SourceEntry) =>
    builtIn ? config.variablesOf(name) : pluginSettingsOf(plugin);
  const ofPlugin = (plugin: string) => [...all.values()].filter((one) => one.source.plugin === plugin);
  return {
    environmentOf,
    bySlug: async (slug) => all.get(slug) ?? stored?.find(slug),
    forExecution: async (source, work = noWork, agentId = null) =>
      stored?.forWork(source, work, agentId) ?? all.get(source) ?? null,
    environment: (source) => all.get(source),
    pluginSettings: pluginSettingsOf,
    everyAccount: () => {
      const plugins = new Set([...all.values()].map(({ source }) => source.plugin));
      return [...all.values(), ...[...plugins].flatMap((plugin) => stored?.ofPlugin(plugin) ?? [])];
    },
    all: () => [...all.values()],
    ofSource: (name) => {
      const configured = all.get(name);
      const given = configured ? stored?.ofPlugin(configured.source.plugin) : undefined;
      return [...(configured ? [configured] : []), ...(given ?? []).filter(({ source }) => source.name === name)];
    },
    hostsOf: (plugin) => ofPlugin(plugin).flatMap((one) => hostsIn(one.source.builtIn ? one.settings : namedSettings(one))),
    givenHostsOf: (plugin) => [
      ...(stored?.ofPlugin(plugin) ?? []).flatMap((one) => hostsIn(one.settings)),
      ...ofPlugin(plugin).flatMap((one) => (one.source.builtIn ? [] : hostsIn(one.settings))),
    ],
    use: (host, given) => {
      stored = given;
      const made = [...host.sources].flatMap(([name, entry]) => {
        const known = all.get(name);
        if (known?.source === entry) return [[name, known] as const];
        try {
          return [[name, connection("environment", entry, environmentOf(entry))] as const];
        } catch (error) {
          if (entry.builtIn) throw error;
          // The settings of a third-party plugin must not prevent the service's start.
          log.error("a plugin's settings are not valid", { plugin: entry.plugin, error: String(error) });
          return [];
        }
      });
      all = new Map(made);
    },
  };
}
