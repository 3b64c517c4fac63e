import type { Sql } from "../platform/database/client.ts";
import { storable } from "../platform/json.ts";
import { Failure } from "../platform/retry.ts";
import { checkParameters } from "../tools/parameters.ts";
import type { Parameters, RegisteredTool, ToolUse } from "../tools/registered-tool.ts";
import { callMcpTool } from "./client/call-tool.ts";
import type { McpTool } from "./client/list-tools.ts";
import { ServerFault } from "./client/server-fault.ts";
import { allServers, type ServerRow } from "./queries.ts";
import { approvedTools } from "./tool-changes.ts";

/** Deadline of one call, milliseconds, and size limit of its answer, bytes. */
const callMs = 60_000;
const maxBytes = 2_097_152;

type Fetch = typeof globalThis.fetch;

/**
 * The approved tools of all MCP servers, interleaved: the first tool of each server, then the second of each, and so on. So if
 * there are more than a request may contain, one server cannot crowd out the others. `isTaken`: whether another provider uses a
 * name.
 */
export async function mcpTools(sql: Sql, fetch: Fetch, isTaken: (provider: string) => boolean): Promise<RegisteredTool[]> {
  const servers = (await allServers(sql))
    .filter((server) => !isTaken(server.provider))
    .map((server) => ({ ...server, tools: approvedTools(server) }));
  const most = Math.max(0, ...servers.map((server) => server.tools.length));
  const tools: RegisteredTool[] = [];
  for (let i = 0; i < most; i++) {
    for (const server of servers) {
      const tool = server.tools[i];
      if (tool) tools.push(toRegisteredTool(server, tool, fetch));
    }
  }
  return tools;
}

export const qualifiedName = (server: Pick<ServerRow, "provider">, tool: Pick<McpTool, "name">): string =>
  `${server.provider}.${tool.name}`;

const toRegisteredTool = (server: ServerRow, tool: McpTool, fetch: Fetch): RegisteredTool => ({
  qualifiedName: qualifiedName(server, tool),
  provider: server.provider,
  name: tool.name,
  origin: "mcp",
  about: tool.description || tool.remote_name,
  category: null,
  parameters: tool.parameters,
  effect: tool.read_only ? "read" : "write",
  idempotent: tool.idempotent,
  source: null,
  takesProject: false,
  endpoint: null,
  agentId: server.agent_id,
  available: server.status === "connected",
  parse: (input) => checkParameters(tool.parameters, input),
  run: (input, use) => call(server, tool, input, use, fetch),
  find: null,
});

/** Reports a failure to the model at once: a slow or missing server must not delay the execution. */
async function call(server: ServerRow, tool: McpTool, input: Parameters, { signal }: ToolUse, fetch: Fetch): Promise<unknown> {
  try {
    return storable(await callMcpTool({ url: server.url, fetch, signal, timeoutMs: callMs, maxBytes }, tool.remote_name, input));
  } catch (error) {
    if (!(error instanceof ServerFault)) throw error;
    throw new Failure(`The MCP server ${JSON.stringify(server.name)} ${error.message}`, { retryable: false, cause: error });
  }
}
