import { z } from "zod";
import { trustLevel } from "./agents.ts";
import { rowId, slug, timestamp } from "./common.ts";
import { operation } from "./operation.ts";

/** What RegisterAgent answered with; every other call names it. */
export const sessionId = z.string().min(1).max(200);

export const register = operation({
  id: "gateway.register",
  http: null,
  rpc: "AgentGateway.RegisterAgent",
  about: "Register an external agent and open a session for it.",
  input: z.object({
    agent_id: slug,
    secret: z.string().max(1_000).default("").describe("The agent's `auth_secret`, where `auth_enabled`."),
    capabilities: z
      .array(z.string().trim().min(1).max(100))
      .max(100)
      .default([])
      .describe("Labels that are added to the agent's own."),
    version: z.string().max(100).default("").describe("Version of the connecting program; kept for the operator."),
  }),
  output: z.object({
    session_id: sessionId,
    trust_level: trustLevel,
    expires_at: timestamp.describe("Renewed by Heartbeat."),
    requests_per_minute: z.int().min(0).max(2_147_483_647),
  }),
  scope: "open",
  problems: ["unauthenticated", "not_found", "rate_limited"],
});
export const heartbeat = operation({
  id: "gateway.heartbeat",
  http: null,
  rpc: "AgentGateway.Heartbeat",
  about: "Keep the session and the tasks of its streams.",
  input: z.object({ session_id: sessionId }),
  output: z.object({ expires_at: timestamp }),
  scope: "open",
  problems: ["unauthenticated", "rate_limited"],
});
export const receiveTasks = operation({
  id: "gateway.receive-tasks",
  http: null,
  rpc: "AgentGateway.ReceiveTasks",
  about: "Receive the executions meant for the agent, in place of the LLM. A stream that ends gives back what is not completed.",
  input: z.object({
    session_id: sessionId,
    max_in_flight: z
      .int()
      .min(0)
      .max(1_000)
      .default(1)
      .describe("At most this many tasks not yet completed or failed; 0 counts as 1."),
  }),
  output: z.object({
    execution_id: z.uuid(),
    task_id: z.string(),
    task_name: z.string(),
    canonical_trigger: z.string(),
    system_prompt: z.string(),
    content: z.string().describe("The task and the event, as the LLM would have been told them."),
    project_id: rowId.nullable(),
    lease_expires_at: timestamp.describe("Renewed by Heartbeat; afterwards the task goes to somebody else."),
  }),
  scope: "open",
  stream: true,
  problems: ["unauthenticated", "rate_limited"],
});
export const completeTask = operation({
  id: "gateway.complete-task",
  http: null,
  rpc: "AgentGateway.CompleteTask",
  about: "Hand in the result of a task; it is posted to the tracker like an answer of the LLM.",
  input: z.object({
    session_id: sessionId,
    execution_id: z.uuid(),
    result: z.string().max(1_000_000).describe("Markdown. An empty result posts nothing."),
  }),
  scope: "open",
  problems: ["unauthenticated", "not_found", "unavailable", "rate_limited"],
});
export const failTask = operation({
  id: "gateway.fail-task",
  http: null,
  rpc: "AgentGateway.FailTask",
  about: "Give a task up.",
  input: z.object({
    session_id: sessionId,
    execution_id: z.uuid(),
    error: z.string().min(1).max(10_000),
    retryable: z.boolean().default(false).describe("The task may be tried again, elsewhere or by the LLM."),
  }),
  scope: "open",
  problems: ["unauthenticated", "not_found", "unavailable", "rate_limited"],
});
