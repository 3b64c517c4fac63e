import { z } from "zod";
import { rowId, slug, text, timestamp, withoutWrite } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const serverStates = ["pending", "connected", "failed"] as const;

const toolVersion = z
  .object({
    description: z.string(),
    parameters: z.unknown().describe("JSON Schema."),
    read_only: z.boolean().describe("Whether the server declares the tool read-only."),
    idempotent: z.boolean().describe("Whether the server declares that a call can be repeated."),
  })
  .meta({ id: "McpToolVersion" });

/** An external tool server. Its name is the provider of its tools. */
export const mcpServer = z
  .object({
    id: rowId,
    name: z.string(),
    url: z.string().describe(withoutWrite),
    agent_id: slug.nullable().describe("Agent that can call its tools; null: all agents."),
    status: z
      .enum(serverStates)
      .meta({ id: "McpServerStatus" })
      .describe(
        "`pending`: its tools have not been discovered yet; `failed`: its tools are unavailable until discovery succeeds.",
      ),
    tools: z
      .array(
        z
          .object({
            name: z.string(),
            qualified_name: z.string(),
            description: z.string(),
            approved: z
              .boolean()
              .describe("Whether the tool is unchanged since its approval. If not, agents cannot use it; see `changes`."),
          })
          .meta({ id: "McpServerTool" }),
      )
      .describe(
        "Tools that the last discovery found. `name` is the name on the server, `qualified_name` the one in GET /api/tools.",
      ),
    last_error: z.string().nullable().describe("Why the last discovery failed, or which tools were skipped and why."),
    version: z.string().describe("Digest of the current tools, for `approve`."),
    changes: z
      .array(
        z
          .object({
            name: z.string(),
            before: toolVersion.nullable().describe("The approved version; null if the tool is new."),
            after: toolVersion,
          })
          .meta({ id: "McpToolChange" }),
      )
      .describe("Tools that are new or differ from their approved version. Agents can use them after `approve`."),
    checked_at: timestamp.nullable().describe("When its tools were last discovered."),
    created_at: timestamp,
  })
  .meta({ id: "McpServer" });

export const list = operation({
  id: "mcp-servers.list",
  http: "GET /api/mcp-servers",
  rpc: "McpServerService.ListMcpServers",
  summary: "List MCP servers",
  description: "Includes the tools that each server offers.",
  input: z.object(paging),
  output: pageOf(mcpServer),
});
export const create = operation({
  id: "mcp-servers.create",
  http: "POST /api/mcp-servers",
  rpc: "McpServerService.CreateMcpServer",
  summary: "Register an MCP server",
  description:
    "The server must use Streamable HTTP. Its tools are discovered in the background. The tools of the first discovery are approved.",
  input: z.object({
    name: text(100).describe(
      "Unique server name. In lower case it prefixes the names of its tools: `My Server` offers `my-server.search`.",
    ),
    url: z
      .url({ protocol: /^https?$/, error: "must be an http or https URL" })
      .max(2_000)
      .describe("The server's MCP endpoint, for example https://mcp.example.com/mcp."),
    agent_id: slug.nullish().describe("Agent that can call its tools. Default: all agents."),
  }),
  output: mcpServer,
  status: 201,
  problems: ["already_exists"],
});
export const remove = operation({
  id: "mcp-servers.delete",
  http: "DELETE /api/mcp-servers/:id",
  rpc: "McpServerService.DeleteMcpServer",
  summary: "Delete an MCP server",
  description: "Also removes its tools.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const approve = operation({
  id: "mcp-servers.approve",
  http: "POST /api/mcp-servers/:id/approve",
  rpc: "McpServerService.ApproveMcpTools",
  summary: "Approve the tools of an MCP server",
  description:
    "Lets agents use the current tools. The first discovery counts as approval. A tool that the server later adds, or changes in its name, description or schema, is unavailable to agents until you approve it.",
  input: z.object({
    id: rowId,
    version: z
      .string()
      .max(100)
      .optional()
      .describe("`version` of the server as you read it. The request is refused if the tools have changed since."),
  }),
  output: mcpServer,
  problems: ["not_found", "changed_meanwhile"],
});
export const discover = operation({
  id: "mcp-servers.discover",
  http: "POST /api/mcp-servers/discover",
  rpc: "McpServerService.DiscoverMcpTools",
  summary: "Discover the tools of all MCP servers",
  description: "A server that fails does not affect the others.",
  output: z
    .object({
      servers: z.int().describe("Number of servers."),
      tools: z.int().describe("Number of tools that were found."),
      failed: z.array(z.object({ name: z.string(), error: z.string() }).meta({ id: "FailedMcpServer" })),
    })
    .meta({ id: "McpDiscovery" }),
});
