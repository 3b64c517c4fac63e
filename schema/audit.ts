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
  "model.called",
  "tool.called",
  "answer.posted",
] as const;

/** One thing that an agent did, or that happened to its work. */
export const auditEntry = z
  .object({
    id: z.string().describe("Never changes: the same thing has the same id in every answer."),
    agent_id: slug,
    execution_id: z.uuid().nullable().describe("Null for what happened outside of a task, such as a chat."),
    event: z.enum(auditEvents).meta({ id: "AuditEvent" }),
    detail: z.string().nullable().describe("The task, the model, the tool and how its call ended, or the error."),
    prompt_tokens: z.int().describe("Of this entry alone: the sum over entries is the sum of tokens."),
    completion_tokens: z.int(),
    duration_ms: z.int().nullable().describe("Of the call; at the end of an execution, of all of it since its first start."),
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
  summary: "List what an agent did, newest first: executions, model calls and tool calls with tokens and timing.",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(auditEntry),
  problems: ["not_found"],
});
export const listTrails = operation({
  id: "agents.audit-trail",
  http: "GET /api/agents/:id/audit-trail",
  rpc: "AgentService.ListAuditTrails",
  summary: "List what an agent did, grouped by execution, oldest first.",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(auditTrail),
  problems: ["not_found"],
});
export const usageStats = operation({
  id: "agents.usage-stats",
  http: "GET /api/agents/:id/usage-stats",
  rpc: "AgentService.GetUsageStats",
  summary: "Sum up an agent's executions, tokens and tool calls.",
  input: z.object({ id: slug }),
  output: z
    .object({
      agent_id: slug,
      tasks: z.object({ total: z.int(), succeeded: z.int(), failed: z.int() }),
      tokens,
      tool_calls: z.int(),
      avg_duration_ms: z.number().nullable().describe("Of executions that succeeded or failed; null while there are none."),
    })
    .meta({ id: "UsageStats" }),
  problems: ["not_found"],
});
