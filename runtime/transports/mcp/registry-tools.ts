import { type Bound, type Context, invoke } from "../../platform/operation.ts";
import { toFunction } from "../../tools/eligible.ts";
import type { RegisteredTool } from "../../tools/registered-tool.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import type { McpTool } from "./tool.ts";

/**
 * The tools that agents are offered, under the names that models know them by: `alpha__add_comment`. Each call is one of
 * `execute`, the operation `tools.execute`: recorded, checked and run dry like any other.
 */
export const registryTools = (registry: Pick<ToolRegistry, "eligible">, execute: Bound): McpTool[] =>
  registry.eligible({ source: null, agentId: null, allowed: null }).map((tool) => toolOf(tool, execute));

function toolOf(tool: RegisteredTool, execute: Bound): McpTool {
  const { name, description, parameters } = toFunction(tool);
  const reads = tool.effect === "read";
  return {
    group: tool.provider,
    scope: execute.op.scope,
    listed: {
      name,
      description,
      title: tool.qualifiedName,
      inputSchema: { ...parameters, type: "object" },
      // Whether a write destroys something is not known; left out, clients assume that it may.
      annotations: reads
        ? { readOnlyHint: true, openWorldHint: true }
        : { readOnlyHint: false, idempotentHint: tool.idempotent, openWorldHint: true },
    },
    call: async (parameters, context: Context) => {
      const ran = await invoke(execute, { qualified_name: tool.qualifiedName, parameters }, context);
      const { id, status, result } = ran as { id: string; status: string; result: unknown };
      return { tool_execution_id: id, status, result };
    },
  };
}
