import type { Call, Contributions, Knowledge, MemoryBackend, Queue, Source, Tool, UseCase } from "@signalbox/sdk";
import { z } from "zod";
import type { Loaded, Refused } from "./load.ts";

/** A source with the plugin it came from. */
export interface SourceEntry {
  readonly name: string;
  readonly plugin: string;
  readonly version: string;
  readonly source: Source;
}
export interface ToolEntry {
  /** `<provider>.<tool>`, for example `alpha.add_comment`. */
  readonly qualifiedName: string;
  readonly provider: string;
  readonly name: string;
  readonly tool: Tool<z.ZodObject, z.ZodType, Record<string, unknown>>;
  /** The source whose connection its calls use; null for a provider that is not a source. */
  readonly source: SourceEntry | null;
  /** JSON Schema of its parameters. */
  readonly parameters: Record<string, unknown>;
}

/** A connector to documents with the plugin it came from. */
export interface KnowledgeEntry {
  readonly name: string;
  readonly plugin: string;
  readonly knowledge: Knowledge;
}

/** What the loaded plugins contribute, by name. */
export interface Host {
  readonly sources: ReadonlyMap<string, SourceEntry>;
  readonly tools: ReadonlyMap<string, ToolEntry>;
  /** Stores of memories, by name. */
  readonly memories: ReadonlyMap<string, MemoryBackend>;
  /** Connectors to documents, by the `type` of the sources that they read. */
  readonly knowledge: ReadonlyMap<string, KnowledgeEntry>;
  /** Message queues beside the database's own, by name. */
  readonly queues: ReadonlyMap<string, Queue>;
  readonly useCases: ReadonlyMap<string, UseCase>;
  readonly refused: readonly Refused[];
  dispose(): Promise<void>;
}

export function createHost(loaded: readonly Loaded[], refused: readonly Refused[]): Host {
  const sources = new Map<string, SourceEntry>();
  const tools = new Map<string, ToolEntry>();
  const memories = new Map<string, MemoryBackend>();
  const connectors = new Map<string, KnowledgeEntry>();
  const queues = new Map<string, Queue>();
  const useCases = new Map<string, UseCase>();
  for (const { plugin, contributions } of loaded) {
    for (const [name, source] of Object.entries(contributions.sources ?? {})) {
      sources.set(name, { name, plugin: plugin.id, version: plugin.version, source });
    }
    for (const [name, backend] of Object.entries(contributions.memories ?? {})) memories.set(name, backend);
    for (const [name, knowledge] of Object.entries(contributions.knowledge ?? {})) {
      connectors.set(name, { name, plugin: plugin.id, knowledge });
    }
    for (const [name, queue] of Object.entries(contributions.queues ?? {})) queues.set(name, queue);
    for (const [name, useCase] of Object.entries(contributions.useCases ?? {})) useCases.set(name, useCase);
    for (const entry of toolsOf(plugin.id, contributions, sources)) tools.set(entry.qualifiedName, entry);
  }
  const dispose = async () => {
    for (const { contributions } of [...loaded].reverse()) await contributions.dispose?.();
  };
  return { sources, tools, memories, knowledge: connectors, queues, useCases, refused, dispose };
}

function toolsOf(provider: string, contributions: Contributions, sources: ReadonlyMap<string, SourceEntry>): ToolEntry[] {
  return Object.entries(contributions.tools ?? {}).map(([name, tool]) => ({
    qualifiedName: `${provider}.${name}`,
    provider,
    name,
    tool,
    source: contributions.sources?.[provider] ? (sources.get(provider) ?? null) : null,
    parameters: z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" }) as Record<string, unknown>,
  }));
}

export type AnyCall = Call<Record<string, unknown>>;
