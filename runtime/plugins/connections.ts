import type { Config } from "../config.ts";
import type { Host, SourceEntry } from "./host.ts";

/** One account at a platform, ready for calls. */
export interface Connection {
  /** `environment`, or the id of an integration. */
  readonly id: string;
  readonly source: SourceEntry;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The settings that are missing before anything can be posted. */
  readonly missing: readonly string[];
}

/** Parses raw settings by the source's own schema. Throws an Error that names the setting, never its value. */
export function connection(id: string, source: SourceEntry, raw: Readonly<Record<string, unknown>>): Connection {
  const parsed = source.source.connection.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${source.name}: the setting ${issue?.path.join(".") || "(all)"} is not valid: ${issue?.message}`);
  }
  const settings = parsed.data as Record<string, unknown>;
  const missing = source.source.required.filter((name) => settings[name] === undefined || settings[name] === "");
  return Object.freeze({ id, source, settings, missing });
}

/** Hosts of the addresses among a connection's settings. */
export const hostsOf = (settings: Readonly<Record<string, unknown>>): string[] =>
  Object.values(settings).flatMap((value) =>
    typeof value === "string" && URL.canParse(value) && /^https?:/.test(value) ? [new URL(value).host] : [],
  );

/** Every connection there is, by what asks for it. */
export interface Connections {
  /** The account whose webhooks come in by `/webhook/<slug>`. */
  bySlug(slug: string): Promise<Connection | undefined>;
  /** The account in whose name an execution works at `source`. */
  forExecution(source: string): Promise<Connection | null>;
  /** Hosts that a plugin's `fetch` may reach because a connection of it names them. */
  hostsOf(plugin: string): readonly string[];
  /** Those from the environment. */
  all(): readonly Connection[];
  /** Called once, when the plugins are loaded. */
  use(host: Host): void;
}

/** The connections from the environment: `ALPHA_TOKEN` is the setting `token` of alpha. */
export function connectionsOf(config: Pick<Config, "connectionOf">): Connections {
  let all: ReadonlyMap<string, Connection> = new Map();
  return {
    bySlug: async (slug) => all.get(slug),
    forExecution: async (source) => all.get(source) ?? null,
    all: () => [...all.values()],
    hostsOf: (plugin) => [...all.values()].filter((one) => one.source.plugin === plugin).flatMap((one) => hostsOf(one.settings)),
    use: (host) => {
      all = new Map(
        [...host.sources].map(([name, entry]) => [name, connection("environment", entry, config.connectionOf(name))]),
      );
    },
  };
}
