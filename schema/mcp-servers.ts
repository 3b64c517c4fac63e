import { z } from "zod";
import { rowId, slug, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const serverStates = ["pending", "connected", "failed"] as const;

/** An external tool server. Its tools stand beside the built-in ones, under its name as their provider. */
export const mcpServer = z
  .object({
    id: rowId,
    name: z.string(),
    url: z.string(),
    agent_id: slug.nullable().describe("The only agent that its tools are offered to; null: all."),
    status: z
      .enum(serverStates)
      .meta({ id: "McpServerStatus" })
      .describe("pending: not asked yet; failed: its tools are not offered until it answers again."),
    tools: z
      .array(z.object({ name: z.string(), qualified_name: z.string(), description: z.string() }).meta({ id: "McpServerTool" }))
      .describe("As it told them last. `name` is its own; `qualified_name` that of GET /api/tools."),
    last_error: z.string().nullable().describe("Why it failed, or which of its tools were left out and why."),
    checked_at: timestamp.nullable().describe("When it was last asked for its tools."),
    created_at: timestamp,
  })
  .meta({ id: "McpServer" });

export const list = operation({
  id: "mcp-servers.list",
  http: "GET /api/mcp-servers",
  rpc: "McpServerService.ListMcpServers",
  summary: "List the registered MCP servers with the tools that they told of.",
  input: z.object(paging),
  output: pageOf(mcpServer),
});
export const create = operation({
  id: "mcp-servers.create",
  http: "POST /api/mcp-servers",
  rpc: "McpServerService.CreateMcpServer",
  summary: "Register an MCP server (Streamable HTTP), for one agent or for all. It is asked for its tools in the background.",
  input: z.object({
    name: text(100).describe("Unique. Its tools are called by it, in lower case: `My Server` has `my-server.search`."),
    url: z
      .url({ protocol: /^https?$/, error: "must be an http or https address" })
      .max(2_000)
      .describe("Its MCP endpoint, for example https://mcp.example.com/mcp."),
    agent_id: slug.nullish(),
  }),
  output: mcpServer,
  status: 201,
  problems: ["conflict"],
});
export const remove = operation({
  id: "mcp-servers.delete",
  http: "DELETE /api/mcp-servers/:id",
  rpc: "McpServerService.DeleteMcpServer",
  summary: "Remove an MCP server and its tools.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const discover = operation({
  id: "mcp-servers.discover",
  http: "POST /api/mcp-servers/discover",
  rpc: "McpServerService.DiscoverMcpTools",
  summary: "Ask all registered MCP servers for their tools now. One that fails never fails the others.",
  output: z
    .object({
      servers: z.int().describe("How many were asked."),
      tools: z.int().describe("How many tools the ones that answered have."),
      failed: z.array(z.object({ name: z.string(), error: z.string() }).meta({ id: "FailedMcpServer" })),
    })
    .meta({ id: "McpDiscovery" }),
});
