import { z } from "zod";
import { rowId, slug, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const executionStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
export const executionState = z.enum(executionStates).meta({ id: "TaskExecutionState" });

/** One run of one task for one event. */
export const execution = z
  .object({
    id: z.uuid(),
    task_id: z.string(),
    event_id: z.uuid().nullable(),
    agent_id: z.string().nullable().describe("The agent that ran it; null before it ran, and when the fallback prompt did."),
    project_id: rowId.nullable(),
    source: z.string(),
    canonical_trigger: z.string(),
    subject: z.string().nullable().describe("The issue or pull request, for example alpha:octo/repo#12."),
    state: executionState,
    attempts: z.int().describe("How often a worker took it up."),
    result: z.string().nullable().describe("The agent's final answer, Markdown."),
    result_url: z.string().nullable().describe("Where the answer stands at the tracker."),
    error: z.string().nullable(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    tool_calls: z.int(),
    duration_ms: z.int().nullable().describe("From the first start to the end, milliseconds."),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: "TaskExecution" });

export const stepKinds = ["prompt", "model", "tool", "post"] as const;
export const stepStates = ["started", "succeeded", "failed", "dry_run"] as const;
export const stepState = z.enum(stepStates).meta({ id: "StepState" });

/** One row of a transcript: the prompt, an answer of the model, a tool call, or the comment that was posted. */
export const step = z
  .object({
    seq: z.int(),
    kind: z.enum(stepKinds).meta({ id: "StepKind" }),
    state: stepState,
    name: z.string().nullable().describe("The model, or the qualified name of the tool."),
    input: z.unknown().describe("prompt: the messages; tool: its parameters; post: the Markdown body."),
    output: z.unknown().describe("model: `{content, tool_calls}`; tool: its result; post: `{id, url}`."),
    error: z.string().nullable(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost_usd: z.number().nullable().describe("As the LLM proxy reported it; null where it did not."),
    duration_ms: z.int(),
    created_at: timestamp,
  })
  .meta({ id: "ExecutionStep" });

export const executionWithTranscript = execution
  .extend({ transcript: z.array(step) })
  .meta({ id: "TaskExecutionWithTranscript" });

export const list = operation({
  id: "task-executions.list",
  http: "GET /api/task-executions",
  rpc: "TaskExecutionService.ListTaskExecutions",
  summary: "List task executions, newest first.",
  input: z.object({
    ...paging,
    state: executionState.optional(),
    task_id: slug.optional(),
    agent_id: slug.optional(),
    project_id: rowId.optional(),
    event_id: z.uuid().optional(),
  }),
  output: pageOf(execution),
});
export const get = operation({
  id: "task-executions.get",
  http: "GET /api/task-executions/:id",
  rpc: "TaskExecutionService.GetTaskExecution",
  summary: "Get one task execution with its transcript: every model round and tool call, with tokens and timing.",
  input: z.object({ id: z.uuid() }),
  output: executionWithTranscript,
  problems: ["not_found"],
});
export const cancel = operation({
  id: "task-executions.cancel",
  http: "POST /api/task-executions/:id/cancel",
  rpc: "TaskExecutionService.CancelTaskExecution",
  summary: "Cancel a queued or running execution; nothing more of it is posted.",
  input: z.object({ id: z.uuid() }),
  output: execution,
  problems: ["not_found", "conflict"],
});
