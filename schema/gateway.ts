import { z } from "zod";
import { trustLevel } from "./agents.ts";
import { rowId, slug, timestamp } from "./common.ts";
import { memoryContent, memoryKey, memoryScope, searchMode } from "./memory.ts";
import { operation, paging } from "./operation.ts";

/** Session id returned by RegisterAgent; required by every other call. */
export const sessionId = z
  .string()
  .min(1)
  .max(200)
  .describe("Id of the session. UNAUTHENTICATED means that it is unknown, has expired or was revoked: call RegisterAgent again.");

export const register = operation({
  id: "gateway.register",
  http: null,
  rpc: "AgentGateway.RegisterAgent",
  summary: "Register an external agent",
  description:
    "Opens a session for the agent. Once API keys exist, the call needs the agent's secret or an API key with the scope `agent`.",
  input: z.object({
    agent_id: slug,
    secret: z
      .string()
      .max(1_000)
      .default("")
      .describe("The agent's `auth_secret`. Required if `auth_enabled` is true, or if API keys exist and the call has none."),
    capabilities: z
      .array(z.string().trim().min(1).max(100))
      .max(100)
      .default([])
      .describe("Capability labels to add to the agent."),
    version: z.string().max(100).default("").describe("Version of the client, shown to operators."),
  }),
  output: z.object({
    session_id: sessionId.describe("Id of the session. Every other call needs it."),
    trust_level: trustLevel,
    expires_at: timestamp.describe("When the session expires. Heartbeat renews it."),
    requests_per_minute: z
      .int()
      .min(0)
      .max(2_147_483_647)
      .describe("Calls that the agent can make per minute, across all its sessions. Calls above it get RESOURCE_EXHAUSTED."),
  }),
  scope: "agent",
  problems: ["unauthenticated", "forbidden", "not_found", "rate_limited"],
});
export const heartbeat = operation({
  id: "gateway.heartbeat",
  http: null,
  rpc: "AgentGateway.Heartbeat",
  summary: "Renew a session",
  description:
    "Also renews the leases of the tasks that its streams have received, and returns these tasks. A task that an agent received before the call and that is not among them was cancelled or went back to the queue: stop working on it, because its result will be refused. An agent that has stopped working on a task that is still among them must call FailTask. Until then, no other agent gets the task.",
  input: z.object({ session_id: sessionId }),
  output: z.object({
    expires_at: timestamp.describe("When the session expires."),
    execution_ids: z.array(z.uuid()).describe("Executions that the streams of the session hold."),
  }),
  scope: "open",
  problems: ["unauthenticated", "rate_limited"],
});
export const receiveTasks = operation({
  id: "gateway.receive-tasks",
  http: null,
  rpc: "AgentGateway.ReceiveTasks",
  summary: "Receive tasks",
  description:
    "Streams the executions that are assigned to the agent, in place of the LLM. When the stream ends, tasks that are not completed return to the queue: another stream of the agent receives them or, if none is open, the LLM executes them. The stream does not announce that a task was cancelled: Heartbeat no longer returns it, and its result is refused.",
  input: z.object({
    session_id: sessionId,
    max_in_flight: z
      .int()
      .min(0)
      .max(1_000)
      .default(1)
      .describe(
        "Maximum number of tasks in flight, that is, received and not yet completed or failed. 0 is treated as 1. Default: 1.",
      ),
  }),
  output: z.object({
    execution_id: z.uuid(),
    task_id: z.string(),
    task_name: z.string(),
    canonical_trigger: z.string(),
    system_prompt: z.string(),
    content: z.string().describe("The task and the event, as the LLM would receive them."),
    project_id: rowId.nullable(),
    lease_expires_at: timestamp.describe("When the task returns to the queue. Heartbeat renews it."),
  }),
  scope: "open",
  streaming: true,
  problems: ["unauthenticated", "rate_limited", "bad_gateway"],
});
/** What a connected agent used for a task. */
const usage = {
  prompt_tokens: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(0)
    .describe("Tokens that the agent's model read. They count towards budgets and usage."),
  completion_tokens: z.int().min(0).max(1_000_000_000).default(0).describe("Tokens that the agent's model wrote."),
  cost_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe("Cost of the tokens, in US dollars. Default: the price of `agent:<id>` in `MODEL_PRICES`."),
};

export const completeTask = operation({
  id: "gateway.complete-task",
  http: null,
  rpc: "AgentGateway.CompleteTask",
  summary: "Complete a task",
  description:
    "The result is posted to the tracker like an LLM answer. NOT_FOUND means that the session no longer holds the task: it was completed or cancelled, or it went back to the queue. A call whose response was lost can therefore be repeated. The result is posted once.",
  input: z.object({
    session_id: sessionId,
    execution_id: z.uuid(),
    result: z
      .string()
      .max(1_000_000)
      .describe("Result in Markdown. If it has no visible text, the execution fails and nothing is posted."),
    ...usage,
  }),
  scope: "open",
  problems: ["unauthenticated", "not_found", "unavailable", "rate_limited"],
});
export const failTask = operation({
  id: "gateway.fail-task",
  http: null,
  rpc: "AgentGateway.FailTask",
  summary: "Fail a task",
  description: "NOT_FOUND means that the session no longer holds the task, as for CompleteTask.",
  input: z.object({
    session_id: sessionId,
    execution_id: z.uuid(),
    error: z.string().min(1).max(10_000).describe("What went wrong, for operators."),
    retryable: z.boolean().default(false).describe("Whether another agent or the LLM can retry the task. Default: `false`."),
    ...usage,
  }),
  scope: "open",
  problems: ["unauthenticated", "not_found", "unavailable", "rate_limited"],
});

const seenMemory = z.object({
  key: z.string(),
  content: z.string(),
  scope: memoryScope,
  agent_id: z.string().nullable(),
  project_id: rowId.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
});
const sharedCodes: ("unauthenticated" | "rate_limited" | "unavailable")[] = ["unauthenticated", "rate_limited", "unavailable"];

export const memoryStore = operation({
  id: "gateway.memory-store",
  http: null,
  rpc: "AgentGateway.MemoryStore",
  summary: "Store a memory",
  description:
    "A memory of the scope `agent` or `task` belongs to the agent of the session. If the key exists, the call gets ALREADY_EXISTS: delete that memory first to replace it.",
  input: z.object({
    session_id: sessionId,
    key: memoryKey,
    content: memoryContent,
    scope: memoryScope,
    ttl_seconds: z
      .int()
      .min(1)
      .max(315_360_000)
      .optional()
      .describe(
        "Seconds after which the memory expires. Default: `REDIS_MEMORY_TTL` for the scope `task`; other memories do not expire.",
      ),
    project_id: rowId.optional().describe("Project of the memory. Required for the scope `project`."),
    task_id: z.string().min(1).max(128).optional().describe("Id of the task execution, for the scope `task`."),
  }),
  output: seenMemory.extend({ id: z.uuid() }),
  scope: "open",
  problems: [...sharedCodes, "already_exists"],
});
export const memoryRetrieve = operation({
  id: "gateway.memory-retrieve",
  http: null,
  rpc: "AgentGateway.MemoryRetrieve",
  summary: "Get a memory",
  description: "The agent must be allowed to see the memory.",
  input: z.object({ session_id: sessionId, key: memoryKey }),
  output: seenMemory.extend({ id: z.uuid() }),
  scope: "open",
  problems: [...sharedCodes, "not_found"],
});
export const memoryList = operation({
  id: "gateway.memory-list",
  http: null,
  rpc: "AgentGateway.MemoryList",
  summary: "List memories",
  description: "Returns the memories that the agent can see, newest first.",
  input: z.object({
    session_id: sessionId,
    scope: memoryScope.optional().describe("Return only memories of this scope."),
    agent_id: slug.optional().describe("Return only memories of this agent."),
    project_id: rowId.optional().describe("Return only memories of this project."),
    limit: paging.limit,
    offset: paging.offset,
  }),
  output: z.object({ memories: z.array(seenMemory.meta({ id: "AgentMemory" })), total: z.int() }),
  scope: "open",
  problems: sharedCodes,
});
export const memorySearch = operation({
  id: "gateway.memory-search",
  http: null,
  rpc: "AgentGateway.MemorySearch",
  summary: "Search memories",
  description: "Searches the memories that the agent can see, and the ingested documents.",
  input: z.object({
    session_id: sessionId,
    query: z.string().trim().min(1, "must not be empty").max(262_144),
    scope: memoryScope.optional().describe("Return only memories of this scope."),
    project_id: rowId.optional().describe("Return only memories of this project."),
    mode: searchMode.default("semantic").describe("Default: `MEMORY_SEARCH_MODE_SEMANTIC`."),
    limit: z.int().min(1).max(1000).optional().describe("Maximum number of results. Default: `MEMORY_TOP_K` of the service."),
  }),
  output: z.object({
    memories: z.array(seenMemory.omit({ updated_at: true }).extend({ similarity: z.number() }).meta({ id: "FoundMemory" })),
  }),
  scope: "open",
  problems: [...sharedCodes, "bad_gateway"],
});
export const memoryDelete = operation({
  id: "gateway.memory-delete",
  http: null,
  rpc: "AgentGateway.MemoryDelete",
  summary: "Delete a memory",
  description:
    "The agent must be allowed to see the memory. Once API keys exist, it must also have written it, unless its trust level is `privileged`. Deletion is permanent.",
  input: z.object({ session_id: sessionId, key: memoryKey }),
  scope: "open",
  problems: [...sharedCodes, "forbidden", "not_found"],
});
