import { z } from "zod";
import { rowId, slug, timestamp } from "./common.ts";
import { fieldsOf, historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";

export const executionStates = ["queued", "held", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
export const executionState = z.enum(executionStates).meta({ id: "TaskExecutionState" });

/** One execution of one task for one event. */
export const execution = z
  .object({
    id: z.uuid(),
    task_id: z.string(),
    event_id: z.uuid().nullable(),
    agent_id: z
      .string()
      .nullable()
      .describe("Agent that executed the task; null before the execution starts, and if the fallback prompt was used."),
    project_id: rowId.nullable(),
    source: z.string(),
    canonical_trigger: z.string(),
    subject: z.string().nullable().describe("Issue or pull request of the event, for example alpha:octo/repo#12."),
    state: executionState,
    held_reason: z
      .string()
      .nullable()
      .describe("Why the execution is held: the limit that it would exceed, and where the limit is set."),
    held_until: timestamp.nullable().describe("When a held execution is queued again; null if it waits for a release."),
    waiting_for: z
      .string()
      .nullable()
      .describe("The connection, budget, approval or agent that the execution waits for, in words."),
    attempts: z.int().describe("How many times a worker has started the execution."),
    result: z
      .string()
      .nullable()
      .optional()
      .describe("Final answer of the agent, in Markdown. Lists leave it out unless `fields` names it."),
    result_url: z.string().nullable().describe("URL of the posted comment."),
    error: z.string().nullable().describe("Why the execution failed, is being retried, or could not post its answer."),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    tool_calls: z.int().describe("Number of tool calls."),
    model: z.string().nullable().describe("Model of the last model call; null before it."),
    cost_usd: z
      .number()
      .nullable()
      .describe("Cost of the model calls in US dollars, as far as it is known; null if nothing is known of it."),
    unpriced_tokens: z.int().describe("Tokens of model calls whose cost is not known."),
    duration_ms: z.int().nullable().describe("Duration in milliseconds from the first start to the end."),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    transcript_removed_at: timestamp
      .nullable()
      .describe("When retention or an erasure removed transcript and result; null if they are stored."),
  })
  .meta({ id: "TaskExecution" });

export const stepKinds = ["prompt", "model", "tool", "post"] as const;
export const stepStates = ["started", "succeeded", "failed", "dry_run"] as const;
export const stepState = z.enum(stepStates).meta({ id: "StepState" });

/** One step of a transcript: the prompt, a model call, a tool call, or the posted comment. */
export const step = z
  .object({
    seq: z.int(),
    kind: z.enum(stepKinds).meta({ id: "StepKind" }),
    state: stepState,
    name: z.string().nullable().describe("Name of the model, or qualified name of the tool."),
    input: z.unknown().describe("Input of the step. `prompt`: the messages; `tool`: the parameters; `post`: the Markdown body."),
    output: z
      .unknown()
      .describe("Output of the step. `model`: `{content, tool_calls}`; `tool`: the result; `post`: `{id, url}`."),
    error: z.string().nullable(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost_usd: z.number().nullable().describe("Cost in US dollars as reported by the LLM proxy; null if it was not reported."),
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
  summary: "List task executions",
  description: "Returns the newest first.",
  input: z.object({
    ...historyFilter,
    fields: fieldsOf(execution, ["result"]),
    state: executionState.optional(),
    task_id: slug.optional(),
    agent_id: slug.optional(),
    project_id: rowId.optional(),
    event_id: z.uuid().optional(),
  }),
  output: historyOf(execution),
});
export const get = operation({
  id: "task-executions.get",
  http: "GET /api/task-executions/:id",
  rpc: "TaskExecutionService.GetTaskExecution",
  summary: "Get a task execution",
  description: "Includes the transcript: every model call and tool call, with tokens, cost and timing.",
  input: z.object({ id: z.uuid() }),
  output: executionWithTranscript,
  problems: ["not_found"],
});
export const cancel = operation({
  id: "task-executions.cancel",
  http: "POST /api/task-executions/:id/cancel",
  rpc: "TaskExecutionService.CancelTaskExecution",
  summary: "Cancel a task execution",
  description: "Only a queued or running execution can be cancelled. It posts nothing after that.",
  input: z.object({ id: z.uuid() }),
  output: execution,
  problems: ["not_found", "conflict"],
});
