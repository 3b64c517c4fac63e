import type { ForwardingQueue, KnowledgeConnector, MemoryStore, Queue, Route, Source, Tool, UseCase } from "@signalbox/sdk";
import { z } from "zod";
import type { LoadedPlugin } from "./load.ts";

/** A source with its plugin. */
export interface SourceEntry {
  readonly name: string;
  readonly plugin: string;
  readonly builtIn: boolean;
  /** Whether it runs in a separate process, which may not be running. */
  readonly sandboxed: boolean;
  readonly adapter: Source;
}
export interface ToolEntry {
  /** `<provider>.<tool>`, for example `alpha.add_comment`. */
  readonly qualifiedName: string;
  readonly provider: string;
  readonly name: string;
  readonly tool: Tool<z.ZodObject, z.ZodType, Record<string, unknown>>;
  /** The source whose connection its calls use; null if the provider is not a source. */
  readonly source: SourceEntry | null;
  /** JSON Schema of its parameters. */
  readonly parameters: Record<string, unknown>;
  /** Whether it validates its parameters itself, in a separate process. */
  readonly sandboxed: boolean;
}

/** A connector to documents with its plugin. */
export interface KnowledgeEntry {
  readonly plugin: string;
  readonly knowledge: KnowledgeConnector;
}

/** An HTTP route with its plugin. */
export interface RouteEntry {
  readonly plugin: string;
  readonly name: string;
  readonly route: Route;
}

/** The contributions of the loaded plugins, by name. The maps change when plugins are loaded or unloaded. */
export interface Host {
  readonly sources: ReadonlyMap<string, SourceEntry>;
  readonly tools: ReadonlyMap<string, ToolEntry>;
  /** Stores of memories, by name. */
  readonly memories: ReadonlyMap<string, MemoryStore>;
  /** Connectors to documents, by the `type` of their sources. */
  readonly knowledge: ReadonlyMap<string, KnowledgeEntry>;
  /** Message queues, by name, in addition to the database's own. */
  readonly queues: ReadonlyMap<string, AnyQueue>;
  readonly useCases: ReadonlyMap<string, UseCase>;
  /** HTTP routes, by `<plugin>/<name>` as in their paths. */
  readonly routes: ReadonlyMap<string, RouteEntry>;
  /** Adds a plugin's contributions. If another plugin already has a name, it keeps it. Returns the skipped contributions. */
  add(loaded: LoadedPlugin): string[];
  /** Removes a plugin's contributions. */
  remove(plugin: string): void;
  dispose(): Promise<void>;
}

export function createHost(all: readonly LoadedPlugin[]): Host {
  const sources = new Map<string, SourceEntry>();
  const tools = new Map<string, ToolEntry>();
  const memories = new Map<string, MemoryStore>();
  const connectors = new Map<string, KnowledgeEntry>();
  const queues = new Map<string, AnyQueue>();
  const useCases = new Map<string, UseCase>();
  const routes = new Map<string, RouteEntry>();
  const loadedPlugins: LoadedPlugin[] = [];
  const owners = new Map<string, string>();
  const maps: Readonly<Record<string, Map<string, unknown>>> = {
    sources,
    tools,
    memories,
    knowledge: connectors,
    queues,
    useCases,
    routes,
  };
  const put = (plugin: string, kind: string, name: string, value: unknown): string[] => {
    const key = `${kind}.${name}`;
    if ((owners.get(key) ?? plugin) !== plugin) return [key];
    owners.set(key, plugin);
    maps[kind]?.set(name, value);
    return [];
  };
  const add = (one: LoadedPlugin): string[] => {
    const { plugin, contributions, builtIn, schemas } = one;
    loadedPlugins.push(one);
    const own = { plugin: plugin.id, builtIn, sandboxed: schemas !== undefined };
    const skippedNames = Object.entries(contributions.sources ?? {}).flatMap(([name, adapter]) =>
      put(plugin.id, "sources", name, { name, ...own, adapter } satisfies SourceEntry),
    );
    for (const [name, knowledge] of Object.entries(contributions.knowledge ?? {}))
      skippedNames.push(...put(plugin.id, "knowledge", name, { plugin: plugin.id, knowledge }));
    for (const kind of ["memories", "queues", "useCases"] as const)
      for (const [name, value] of Object.entries(contributions[kind] ?? {}))
        skippedNames.push(...put(plugin.id, kind, name, value));
    for (const [name, route] of Object.entries(contributions.routes ?? {}))
      put(plugin.id, "routes", `${plugin.id}/${name}`, { plugin: plugin.id, name, route });
    for (const entry of toolsOf(one, sources)) put(plugin.id, "tools", entry.qualifiedName, entry);
    return skippedNames;
  };
  const remove = (plugin: string) => {
    for (const [key, owner] of owners) {
      if (owner !== plugin) continue;
      const dot = key.indexOf(".");
      maps[key.slice(0, dot)]?.delete(key.slice(dot + 1));
      owners.delete(key);
    }
    loadedPlugins.splice(0, loadedPlugins.length, ...loadedPlugins.filter((one) => one.plugin.id !== plugin));
  };
  for (const one of all) add(one);
  const dispose = async () => {
    for (const { contributions } of [...loadedPlugins].reverse()) await contributions.dispose?.();
  };
  return { sources, tools, memories, knowledge: connectors, queues, useCases, routes, add, remove, dispose };
}

/** The source with the plugin's own name. If another plugin has that name, its connection is not passed to this one. */
function ownSource(plugin: string, sources: ReadonlyMap<string, SourceEntry>): SourceEntry | null {
  const entry = sources.get(plugin);
  return entry?.plugin === plugin ? entry : null;
}

function toolsOf({ plugin, contributions, schemas }: LoadedPlugin, sources: ReadonlyMap<string, SourceEntry>): ToolEntry[] {
  const provider = plugin.id;
  return Object.entries(contributions.tools ?? {}).map(([name, tool]) => ({
    qualifiedName: `${provider}.${name}`,
    provider,
    name,
    tool,
    source: contributions.sources?.[provider] ? ownSource(provider, sources) : null,
    parameters:
      schemas?.[name] ?? (z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" }) as Record<string, unknown>),
    sandboxed: schemas !== undefined,
  }));
}

/** A queue with consumers, or one that only forwards its messages. */
type AnyQueue = Queue | ForwardingQueue;
