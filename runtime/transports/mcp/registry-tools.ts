import { type BoundOperation, type Context, invoke } from "../../platform/operation.ts";
import { toFunction } from "../../tools/eligible.ts";
import type { RegisteredTool } from "../../tools/registered-tool.ts";
import type { ToolRegistry } from "../../tools/registry.ts";
import type { McpTool } from "./tool.ts";

/**
 * The agents' tools, with the names that models use: `alpha__add_comment`. Each call runs `execute`, the operation
 * `tools.execute`, so it is checked and recorded, and can be a dry run.
 */
export const registryTools = (registry: Pick<ToolRegistry, "eligibleTools">, execute: BoundOperation): McpTool[] =>
  registry.eligibleTools({ source: null, agentId: null, allowedTools: null }).map((tool) => toolOf(tool, execute));

function toolOf(tool: RegisteredTool, execute: BoundOperation): McpTool {
  const { name, description, parameters } = toFunction(tool);
  const reads = tool.effect === "read";
  return {
    group: tool.provider,
    scope: execute.op.scope,
    definition: {
      name,
      description,
      title: tool.qualifiedName,
      inputSchema: { ...parameters, type: "object" },
      // It is unknown whether a write is destructive. Without a hint, clients assume that it is.
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
