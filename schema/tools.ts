import { z } from "zod";
import { prose, seedResult, slug, sourceName, text, timestamp } from "./common.ts";
import { stepState } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const parameterTypes = ["string", "integer", "number", "boolean", "array", "object", "any"] as const;
export const parameterType = z.enum(parameterTypes).meta({ id: "ToolParameterType" });
export const origins = ["builtin", "plugin", "mcp", "database"] as const;
export const origin = z.enum(origins).meta({ id: "ToolOrigin" });

export const parameter = z
  .object({
    type: parameterType.describe("Its JSON type; any: whatever the tool takes."),
    required: z.boolean().default(false),
    description: prose(2_000).optional().describe("What the model reads about it."),
  })
  .meta({ id: "ToolParameter" });

const parameterName = z
  .string()
  .regex(
    /^[A-Za-z_][\w.-]{0,63}$/,
    "must be a parameter name: letters, digits, `_`, `.` and `-`, at most 64, not starting with a digit",
  );
const parameters = z
  .record(parameterName, parameter)
  .refine((map) => Object.keys(map).length <= 100, "must have at most 100 parameters")
  .describe("Parameter name → what it is.");

const toolName = z
  .string()
  .regex(/^[A-Za-z][\w-]{0,63}$/, "must be a tool name such as add_comment: letters, digits, `_` and `-`, at most 64");
const qualifiedName = z.string().min(1).max(300).describe("`<provider>.<tool>`, for example alpha.add_comment.");

const described = {
  description: prose(10_000).nullish().describe("What the model reads to decide whether to call it."),
  category: text(100).nullish().describe("For example issue_tracker."),
  parameters: parameters.nullish(),
  endpoint: z
    .url({ protocol: /^https?$/, error: "must be an https address" })
    .max(2_000)
    .nullish()
    .describe("HTTPS address that the parameters are POSTed to as JSON. Not for a tool that its provider has itself."),
};

/** A tool: of a built-in or other plugin, of an MCP server, or stored in the database; a stored one may re-describe one of those. */
export const tool = z
  .object({
    qualified_name: qualifiedName,
    name: z.string(),
    provider: z.string(),
    description: z.string(),
    category: z.string().nullable(),
    parameters: z.record(z.string(), parameter).describe("Parameter name → what it is."),
    origin: origin.describe("Who runs it: builtin or plugin, an MCP server, or database: its own endpoint, or nobody."),
    endpoint: z.string().nullable(),
    agent_id: slug.nullable().describe("The only agent that it is offered to; null: all."),
    stored: z.boolean().describe("There is a row for it in the database, which PUT and DELETE change."),
    created_at: timestamp.nullable().describe("Of the row; null where there is none."),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: "Tool" });

/** One call of a tool. */
export const toolExecution = z
  .object({
    id: z.uuid(),
    execution_id: z.uuid().nullable().describe("The task execution; null for a direct call and for a chat."),
    agent_id: z.string().nullable(),
    tool: z.string().describe("Qualified name."),
    parameters: z.unknown(),
    result: z.unknown(),
    status: stepState.describe("dry_run: a write, while TRACKER_UPDATES_ENABLED is false."),
    error: z.string().nullable(),
    prompt_tokens: z
      .int()
      .describe("Of the model's round that asked for it, shared by all calls of that round; 0 for a direct call."),
    completion_tokens: z.int(),
    duration_ms: z.int(),
    created_at: timestamp,
  })
  .meta({ id: "ToolExecution" });

export const list = operation({
  id: "tools.list",
  http: "GET /api/tools",
  rpc: "ToolService.ListTools",
  summary: "List the tools of all providers, MCP servers and the database, by qualified name.",
  input: z.object(paging),
  output: pageOf(tool),
});
export const create = operation({
  id: "tools.create",
  http: "POST /api/tools",
  rpc: "ToolService.CreateTool",
  summary: "Store a tool: another description of one that its provider has, or a tool of its own behind an endpoint.",
  input: z.object({ provider: sourceName, name: toolName, ...described }),
  output: tool,
  status: 201,
  problems: ["conflict"],
});
export const seed = operation({
  id: "tools.seed",
  http: "POST /api/tools/seed",
  rpc: "ToolService.SeedTools",
  summary: "Store the fourteen tools of the four built-in providers; those that are stored are left alone.",
  output: seedResult,
});
export const update = operation({
  id: "tools.update",
  http: "PUT /api/tools/:qualified_name",
  rpc: "ToolService.UpdateTool",
  summary: "Change some members of a stored tool.",
  input: z.object({ qualified_name: qualifiedName, ...described }),
  output: tool,
  problems: ["not_found", "conflict"],
});
export const remove = operation({
  id: "tools.delete",
  http: "DELETE /api/tools/:qualified_name",
  rpc: "ToolService.DeleteTool",
  summary: "Delete a stored tool. One that its provider has itself stays, under its own description.",
  input: z.object({ qualified_name: qualifiedName }),
  problems: ["not_found"],
});
export const execute = operation({
  id: "tools.execute",
  http: "POST /api/tools/:qualified_name/execute",
  rpc: "ToolService.ExecuteTool",
  summary: "Run a tool now, outside of any task, and record it.",
  input: z.object({ qualified_name: qualifiedName, parameters: z.record(z.string(), z.unknown()).default({}) }),
  output: toolExecution,
  problems: ["not_found", "bad_gateway", "unavailable"],
});
export const listExecutions = operation({
  id: "tool-executions.list",
  http: "GET /api/tool-executions",
  rpc: "ToolService.ListToolExecutions",
  summary: "List what tools were called, by executions, chats and directly, newest first.",
  input: z.object({
    ...paging,
    agent_id: slug.optional(),
    execution_id: z.uuid().optional(),
    status: stepState.optional(),
  }),
  output: pageOf(toolExecution),
});
