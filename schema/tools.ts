import { z } from "zod";
import { prose, seedResult, slug, sourceName, text, timestamp, withoutWrite } from "./common.ts";
import { fieldsOf, historyFilter, historyOf } from "./history.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { stepState } from "./steps.ts";

export const parameterTypes = ["string", "integer", "number", "boolean", "array", "object", "any"] as const;
export const parameterType = z.enum(parameterTypes).meta({ id: "ToolParameterType" });
export const origins = ["builtin", "plugin", "mcp", "database"] as const;
export const origin = z.enum(origins).meta({ id: "ToolOrigin" });

export const parameter = z
  .object({
    type: parameterType.describe("JSON type of the parameter; `any` accepts every type."),
    required: z.boolean().default(false).describe("Whether the parameter is required. Default: `false`."),
    description: prose(2_000).optional().describe("Description for the model."),
  })
  .meta({ id: "ToolParameter" });

const parameterName = z
  .string()
  .regex(
    /^[A-Za-z_][\w.-]{0,63}$/,
    "must be a parameter name of at most 64 letters, digits, `_`, `.` and `-`, starting with a letter or `_`",
  );
const parameters = z
  .record(parameterName, parameter)
  .refine((map) => Object.keys(map).length <= 100, "must have at most 100 parameters")
  .describe("Parameters by name.");

const toolName = z
  .string()
  .regex(
    /^[A-Za-z][\w-]{0,63}$/,
    "must be a tool name of at most 64 letters, digits, `_` and `-`, starting with a letter, for example add_comment",
  );
const qualifiedName = z
  .string()
  .min(1)
  .max(300)
  .describe("Qualified tool name, `<provider>.<tool>`, for example alpha.add_comment.");

const toolFields = {
  description: prose(10_000).nullish().describe("Description that the model uses to decide whether to call the tool."),
  category: text(100).nullish().describe("Tool category, for example `issue_tracker`."),
  parameters: parameters.nullish(),
  endpoint: z
    .url({ protocol: /^https?$/, error: "must be an https URL" })
    .max(2_000)
    .nullish()
    .describe("HTTPS URL to which the parameters are sent as JSON by POST. Not allowed for a tool that its provider implements."),
};

/** A tool of a plugin, of an MCP server or of the database. A stored tool can replace the description of another tool. */
export const tool = z
  .object({
    qualified_name: qualifiedName,
    name: z.string(),
    provider: z.string(),
    description: z.string(),
    category: z.string().nullable(),
    parameters: z.record(z.string(), parameter).describe("Parameters by name."),
    origin: origin.describe("Where the tool comes from. `database`: it has its own endpoint, or is only listed."),
    endpoint: z.string().nullable().describe(withoutWrite),
    agent_id: slug.nullable().describe("Agent that can call the tool; null: all agents."),
    stored: z.boolean().describe("Whether the tool is stored in the database, so that PUT and DELETE change it."),
    created_at: timestamp.nullable().describe("When the tool was stored; null if it is not stored."),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: "Tool" });

/** One call of a tool. */
export const toolExecution = z
  .object({
    id: z.uuid(),
    execution_id: z.uuid().nullable().describe("Task execution of the call; null for direct calls and chats."),
    agent_id: z.string().nullable(),
    tool: z.string().describe("Qualified tool name."),
    parameters: z.unknown(),
    result: z.unknown().optional().describe("Result of the call. Lists include it only if `fields` names it."),
    status: stepState.describe(
      "Status of the call. `dry_run`: a write that was only recorded, because `TRACKER_UPDATES_ENABLED` is false.",
    ),
    error: z.string().nullable(),
    prompt_tokens: z
      .int()
      .describe(
        "Prompt tokens of the model request that led to the call, divided among all calls of that request; 0 for a direct call.",
      ),
    completion_tokens: z.int(),
    duration_ms: z.int(),
    created_at: timestamp,
  })
  .meta({ id: "ToolExecution" });

export const list = operation({
  id: "tools.list",
  http: "GET /api/tools",
  rpc: "ToolService.ListTools",
  summary: "List tools",
  description: "Returns the tools of all plugins, MCP servers and the database, by qualified name.",
  input: z.object(paging),
  output: pageOf(tool),
});
export const create = operation({
  id: "tools.create",
  http: "POST /api/tools",
  rpc: "ToolService.CreateTool",
  summary: "Create a tool",
  description: "Stores either a new description of a provider's tool, or a tool with its own endpoint.",
  input: z.object({ provider: sourceName, name: toolName, ...toolFields }),
  output: tool,
  status: 201,
  problems: ["already_exists", "wrong_state"],
});
export const seed = operation({
  id: "tools.seed",
  http: "POST /api/tools/seed",
  rpc: "ToolService.SeedTools",
  summary: "Create the default tools",
  description: "Stores the fourteen tools of the four built-in providers. Existing tools are not changed.",
  output: seedResult,
});
export const update = operation({
  id: "tools.update",
  http: "PUT /api/tools/:qualified_name",
  rpc: "ToolService.UpdateTool",
  summary: "Update a stored tool",
  description: "Omitted members keep their values.",
  input: z.object({ qualified_name: qualifiedName, ...toolFields }),
  output: tool,
  problems: ["not_found", "wrong_state"],
});
export const remove = operation({
  id: "tools.delete",
  http: "DELETE /api/tools/:qualified_name",
  rpc: "ToolService.DeleteTool",
  summary: "Delete a stored tool",
  description: "If a provider offers the tool, it stays available with the provider's description.",
  input: z.object({ qualified_name: qualifiedName }),
  problems: ["not_found"],
});
export const execute = operation({
  id: "tools.execute",
  http: "POST /api/tools/:qualified_name/execute",
  rpc: "ToolService.ExecuteTool",
  summary: "Execute a tool",
  description: "Calls the tool immediately, outside any task, and records the call.",
  input: z.object({
    qualified_name: qualifiedName,
    parameters: z.record(z.string(), z.unknown()).default({}).describe("Tool parameters by name. Default: none."),
  }),
  output: toolExecution,
  problems: ["not_found", "bad_gateway", "unavailable"],
});
export const listExecutions = operation({
  id: "tool-executions.list",
  http: "GET /api/tool-executions",
  rpc: "ToolService.ListToolExecutions",
  summary: "List tool executions",
  description: "Returns the tool calls of executions, of chats and of direct requests, newest first.",
  input: z.object({
    ...historyFilter,
    fields: fieldsOf(toolExecution, ["result"]),
    agent_id: slug.optional().describe("Return only calls of this agent."),
    execution_id: z.uuid().optional().describe("Return only calls of this execution."),
    status: stepState.optional(),
  }),
  output: historyOf(toolExecution),
});
