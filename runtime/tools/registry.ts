import type { tool as toolEntity } from "@signalbox/schema/tools";
import type { z } from "zod";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Host } from "../plugins/host.ts";
import { eligibleTools, isBuiltInSource, type ToolQuery } from "./eligible.ts";
import { callEndpoint } from "./endpoint.ts";
import { hostTools } from "./host-tools.ts";
import { checkParameters, parametersOf, schemaOf } from "./parameters.ts";
import { allTools, type ToolRow } from "./queries.ts";
import type { RegisteredTool } from "./registered-tool.ts";

export type ListedTool = z.output<typeof toolEntity>;

/** All tools, in memory. */
export interface ToolRegistry extends CachedValue {
  /** A tool that can be run. */
  get(qualifiedName: string): RegisteredTool | undefined;
  /** The tools that an agent may use. */
  eligibleTools(query: ToolQuery): RegisteredTool[];
  /** The tools in the format of the API, by qualified name, including those that no plugin runs. */
  listTools(): readonly ListedTool[];
  /** A stored tool in the format of the API, also if its row was deleted meanwhile. */
  describe(row: ToolRow): ListedTool;
}

interface RegistryOptions {
  readonly host: Pick<Host, "tools" | "sources">;
  /** Ids of the built-in plugins. */
  readonly builtIns: ReadonlySet<string>;
  /** Tools that are discovered at run time, in the order in which they are offered. */
  readonly discoverTools: () => Promise<readonly RegisteredTool[]>;
  /** Reaches only addresses that users may configure. */
  readonly fetch: typeof globalThis.fetch;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
}

/** Reads the tools at the start, and again whenever one changes on any replica. */
export async function openRegistry(options: RegistryOptions): Promise<ToolRegistry> {
  const { host, sql, bus, log } = options;
  let tools = new Map<string, RegisteredTool>();
  let toolList: readonly ListedTool[] = [];
  const isSource = (provider: string) => host.sources.has(provider) || isBuiltInSource(provider);
  const read = async () => {
    const rows = await allTools(sql);
    const found = join(hostTools(host, options.builtIns), rows, await options.discoverTools(), options.fetch);
    toolList = listTools(found, rows);
    tools = found;
  };
  const cached = await openCachedValue({ name: "tools", topic: "tools", read, bus, log });
  return {
    ...cached,
    get: (qualifiedName) => tools.get(qualifiedName),
    eligibleTools: (query) => eligibleTools(tools.values(), isSource, query),
    listTools: () => toolList,
    describe: (row) => {
      const tool = tools.get(nameOf(row));
      return tool && tool.origin !== "database" ? listedTool(withOverrides(tool, row), row) : listedRow(row);
    },
  };
}

/** By qualified name, in the order in which they are offered: first those of plugins, then stored ones, then discovered ones. */
function join(
  ownTools: readonly RegisteredTool[],
  rows: readonly ToolRow[],
  discoveredTools: readonly RegisteredTool[],
  fetch: typeof globalThis.fetch,
): Map<string, RegisteredTool> {
  const provided = new Map<string, RegisteredTool>();
  for (const tool of [...ownTools, ...discoveredTools])
    if (!provided.has(tool.qualifiedName)) provided.set(tool.qualifiedName, tool);
  const stored = new Map(rows.map((row) => [nameOf(row), row]));
  const endpoints = rows.filter((row) => row.endpoint !== null && !provided.has(nameOf(row)));
  const withStoredDescription = (tool: RegisteredTool) => withOverrides(tool, stored.get(tool.qualifiedName));
  const all = [
    ...ownTools.map(withStoredDescription),
    ...endpoints.map((row) => endpointTool(row, row.endpoint as string, fetch)),
    ...discoveredTools.filter((tool) => provided.get(tool.qualifiedName) === tool).map(withStoredDescription),
  ];
  return new Map(all.map((tool) => [tool.qualifiedName, tool]));
}

const nameOf = (row: { provider: string; name: string }): string => `${row.provider}.${row.name}`;

/** The same tool with the description and parameters that an operator has changed. */
const withOverrides = (tool: RegisteredTool, row: ToolRow | undefined): RegisteredTool =>
  row === undefined
    ? tool
    : {
        ...tool,
        about: row.description ?? tool.about,
        category: row.category ?? tool.category,
        parameters: row.parameters ? schemaOf(row.parameters) : tool.parameters,
      };

function endpointTool(row: ToolRow, endpoint: string, fetch: typeof globalThis.fetch): RegisteredTool {
  const parameters = schemaOf(row.parameters);
  return {
    qualifiedName: nameOf(row),
    provider: row.provider,
    name: row.name,
    origin: "database",
    about: row.description ?? "",
    category: row.category,
    parameters,
    // The effect of the tool is unknown, so the worst is assumed.
    effect: "write",
    idempotent: false,
    source: null,
    takesProject: row.parameters !== null && Object.hasOwn(row.parameters, "project"),
    endpoint,
    agentId: null,
    available: true,
    parse: (input) => checkParameters(parameters, input),
    run: (input, use) => callEndpoint(fetch, endpoint, input, use),
    find: null,
  };
}

function listTools(tools: ReadonlyMap<string, RegisteredTool>, rows: readonly ToolRow[]): ListedTool[] {
  const stored = new Map(rows.map((row) => [nameOf(row), row]));
  const unavailableTools = rows.filter((row) => !tools.has(nameOf(row))).map(listedRow);
  const availableTools = [...tools.values()].map((tool) => listedTool(tool, stored.get(tool.qualifiedName)));
  return [...availableTools, ...unavailableTools].sort((a, b) => (a.qualified_name < b.qualified_name ? -1 : 1));
}

const listedTool = (tool: RegisteredTool, row: ToolRow | undefined): ListedTool => ({
  qualified_name: tool.qualifiedName,
  name: tool.name,
  provider: tool.provider,
  description: tool.about,
  category: tool.category,
  parameters: row?.parameters ?? parametersOf(tool.parameters),
  origin: tool.origin,
  endpoint: tool.endpoint,
  agent_id: tool.agentId,
  stored: row !== undefined,
  created_at: row?.created_at ?? null,
  updated_at: row?.updated_at ?? null,
});

/** A tool that only the database has. */
const listedRow = (row: ToolRow): ListedTool => ({
  qualified_name: nameOf(row),
  name: row.name,
  provider: row.provider,
  description: row.description ?? "",
  category: row.category,
  parameters: row.parameters ?? {},
  origin: "database",
  endpoint: row.endpoint,
  agent_id: null,
  stored: true,
  created_at: row.created_at,
  updated_at: row.updated_at,
});
