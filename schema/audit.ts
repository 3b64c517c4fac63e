import { z } from "zod";
import { slug, timestamp } from "./common.ts";
import { executionState } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const auditEvents = [
  "execution.started",
  "execution.retried",
  "execution.interrupted",
  "execution.succeeded",
  "execution.failed",
  "execution.cancelled",
  "execution.restarted",
  "execution.held",
  "execution.released",
  "model.called",
  "tool.called",
  "answer.posted",
] as const;

/** One event in the work of an agent. */
export const auditEntry = z
  .object({
    id: z.string().describe("Stable id of the entry."),
    agent_id: slug,
    execution_id: z.uuid().nullable().describe("Task execution of the entry; null outside tasks, for example in a chat."),
    event: z.enum(auditEvents).meta({ id: "AuditEvent" }),
    detail: z.string().nullable().describe("The task, the model, the tool and the outcome of its call, or the error."),
    prompt_tokens: z.int().describe("Prompt tokens of this entry alone. The sum over all entries is the total."),
    completion_tokens: z.int(),
    duration_ms: z
      .int()
      .nullable()
      .describe(
        "Duration in milliseconds. For a call, its duration. For the end of an execution, the time since its first start.",
      ),
    created_at: timestamp,
  })
  .meta({ id: "AuditEntry" });

/** The entries of one execution, oldest first. */
export const auditTrail = z
  .object({
    execution_id: z.uuid(),
    task_id: z.string(),
    state: executionState,
    entries: z.array(auditEntry),
  })
  .meta({ id: "AuditTrail" });

export const tokens = z.object({ prompt: z.int(), completion: z.int(), total: z.int() }).meta({ id: "Tokens" });

export const listEntries = operation({
  id: "agents.audit",
  http: "GET /api/agents/:id/audit",
  rpc: "AgentService.ListAuditEntries",
  summary: "List an agent's audit entries",
  description: "Returns executions, model calls and tool calls with tokens and timing, newest first.",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(auditEntry),
  problems: ["not_found"],
});
export const listTrails = operation({
  id: "agents.audit-trail",
  http: "GET /api/agents/:id/audit-trail",
  rpc: "AgentService.ListAuditTrails",
  summary: "List an agent's audit trail",
  description: "Returns the audit entries grouped by execution, oldest first.",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(auditTrail),
  problems: ["not_found"],
});
export const usageStats = operation({
  id: "agents.usage-stats",
  http: "GET /api/agents/:id/usage-stats",
  rpc: "AgentService.GetUsageStats",
  summary: "Get an agent's usage statistics",
  description: "Returns the totals of its executions, tokens and tool calls.",
  input: z.object({ id: slug }),
  output: z
    .object({
      agent_id: slug,
      tasks: z.object({ total: z.int(), succeeded: z.int(), failed: z.int() }),
      tokens,
      tool_calls: z.int(),
      avg_duration_ms: z
        .number()
        .nullable()
        .describe("Average duration in milliseconds of the executions that succeeded or failed; null if there are none."),
    })
    .meta({ id: "UsageStats" }),
  problems: ["not_found"],
});
