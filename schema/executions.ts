import { z } from "zod";
import { rowId, slug, timestamp, unreadable, zonedTime } from "./common.ts";
import { fieldsOf, historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";
import { step } from "./steps.ts";

export const executionStates = ["queued", "held", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
export const executionState = z.enum(executionStates).meta({
  id: "TaskExecutionState",
  description:
    "`queued`: waiting for a worker or for its next attempt; `held`: waiting until a limit resets, an outage ends or it is released; `running`; `waiting`: waiting for a decision on its proposals; `succeeded`, `failed` and `cancelled`: finished.",
});

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
    subject: z.string().nullable().describe("The event's issue or pull request, for example alpha:octo/repo#12."),
    subject_title: z
      .string()
      .nullable()
      .describe("Title of the subject when its event arrived; null if it is unknown or was removed with the payload."),
    state: executionState,
    held_reason: z
      .string()
      .nullable()
      .describe("Why the execution is held, for example the limit that it would exceed and the level that sets the limit."),
    held_until: timestamp
      .nullable()
      .describe(
        "When a held execution is queued again; null if no time is set: it waits for a release, or for an outage to end.",
      ),
    waiting_for: z
      .string()
      .nullable()
      .describe(
        "What the execution is waiting for, as text: a pause, a connection, a budget, an approval, an agent or another execution. Null if it is not waiting.",
      ),
    next_attempt_at: timestamp
      .nullable()
      .describe("When a queued execution is due again, or a held one is queued again; null if it is not waiting for a time."),
    reason: z.string().nullable().describe("Why the execution was cancelled; null if an operator cancelled it."),
    hop: z
      .int()
      .nullable()
      .describe(
        "Position of the event in a loop: a chain of events that each followed soon after a write by Signalbox on the issue. Null if the event is not part of a chain.",
      ),
    answers: z.uuid().nullable().describe("Execution whose write the event replies to; null if none."),
    attempts: z.int().describe("How many times a worker has started the execution."),
    result: z
      .string()
      .nullable()
      .optional()
      .describe("The agent's final answer, in Markdown. Lists include it only if `fields` names it."),
    result_url: z.string().nullable().describe("URL of the posted comment."),
    error: z.string().nullable().describe("Why the execution failed, is being retried, or could not post its answer."),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    tool_calls: z.int().describe("Number of tool calls."),
    model: z.string().nullable().describe("Model of the last model call; null before it."),
    cost_usd: z.number().nullable().describe("Known cost of the model calls in US dollars; null if no cost is known."),
    unpriced_tokens: z.int().describe("Tokens of model calls with an unknown cost."),
    dry_run: z
      .boolean()
      .describe("Whether the execution is a dry run: a replay with `dry_run` started it, and it writes nothing to the tracker."),
    duration_ms: z.int().nullable().describe("Duration in milliseconds from the first start to the end."),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    transcript_removed_at: timestamp
      .nullable()
      .describe("When retention or an erasure removed transcript and result; null if they are stored."),
    unreadable: unreadable("result"),
  })
  .meta({ id: "TaskExecution" });

export const proposalState = z
  .enum(["proposed", "applied", "rejected", "expired", "failed", "dry_run"])
  .describe(
    "State of the proposal. `proposed`: waiting for a decision, or, if `decided_at` is set, approved but not written yet; `dry_run`: not written, because the execution is a dry run.",
  )
  .meta({ id: "ProposalState" });

/** One write that waits, or waited, for approval. */
export const proposal = z
  .object({
    id: z.uuid(),
    seq: z.int().describe("Number of its step in the transcript. Approved proposals are written in this order."),
    kind: z.enum(["tool", "comment"]).meta({ id: "ProposalKind" }),
    tool: z.string().nullable().describe("Qualified tool name; null for the comment."),
    target: z
      .string()
      .nullable()
      .describe("Issue or pull request that would be written to, for example alpha:octo/repo#12; null if unknown."),
    parameters: z.unknown().describe("Tool parameters, exactly as they would be sent; null for the comment."),
    body: z.string().nullable().describe("Text of the comment, exactly as it would be posted, in Markdown; null for a tool."),
    state: proposalState,
    error: z.string().nullable().describe("Why the proposal failed, was rejected or expired."),
    url: z.string().nullable().describe("URL of the written comment or object, if there is one."),
    decided_by: z
      .string()
      .nullable()
      .describe("Who made the decision: the name of the API key, or source:login of the person who commented on the issue."),
    decided_at: timestamp.nullable(),
    expires_at: timestamp.nullable().describe("When the proposal expires; null: never."),
    unreadable: unreadable("text or parameters"),
  })
  .meta({ id: "Proposal" });

export const executionWithProposals = execution
  .extend({ proposals: z.array(proposal).describe("Writes that wait or waited for approval, in order.") })
  .meta({ id: "TaskExecutionWithProposals" });
/** What ended or interrupted an earlier attempt. */
export const attemptEvent = z
  .object({
    attempt: z.int(),
    event: z.string().describe("`failed`, `retried`, `interrupted`, `restarted`, `held` or `released`."),
    detail: z.string().nullable().describe("The error or the reason."),
    agent_id: z.string().nullable(),
    at: timestamp,
  })
  .meta({ id: "AttemptEvent" });

export const executionWithTranscript = executionWithProposals
  .extend({
    memories: z
      .array(z.string())
      .describe(
        "Keys of the memories and passages in the prompt; empty if there are none, or after retention or an erasure removed them.",
      ),
    history: z.array(attemptEvent).describe("Events that ended or interrupted earlier attempts, oldest first."),
    transcript: z.array(step),
  })
  .meta({ id: "TaskExecutionWithTranscript" });

/** Filters by the end of an execution. */
export const finishedFilter = {
  finished_from: zonedTime
    .optional()
    .describe("Return only executions that finished at or after this time, in ISO 8601 with a zone."),
  finished_to: zonedTime.optional().describe("Return only executions that finished before this time, in ISO 8601 with a zone."),
} as const;

export const list = operation({
  id: "task-executions.list",
  http: "GET /api/task-executions",
  rpc: "TaskExecutionService.ListTaskExecutions",
  summary: "List task executions",
  description: "Newest first.",
  input: z.object({
    ...historyFilter,
    ...finishedFilter,
    fields: fieldsOf(execution, ["result"]),
    state: executionState.optional(),
    task_id: slug.optional().describe("Return only executions of this task."),
    agent_id: slug
      .optional()
      .describe("Return only executions that this agent has begun. One that waits for its first attempt has no agent yet."),
    project_id: rowId.optional().describe("Return only executions of this project."),
    event_id: z.uuid().optional().describe("Return only executions that this event started."),
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
  description: "Only an unfinished execution can be cancelled. It then posts nothing, and its open proposals are rejected.",
  input: z.object({ id: z.uuid() }),
  output: execution,
  problems: ["not_found", "wrong_state"],
});
export const approve = operation({
  id: "task-executions.approve",
  http: "POST /api/task-executions/:id/approve",
  rpc: "TaskExecutionService.ApproveTaskExecution",
  summary: "Approve proposals of an execution",
  description:
    "Queues a waiting execution, which then writes the approved proposals in order, each once. Other proposals keep waiting. An expired proposal cannot be approved.",
  input: z.object({
    id: z.uuid(),
    proposals: z
      .array(z.uuid())
      .min(1)
      .max(1000)
      .optional()
      .describe("Ids of the proposals to approve. Default: all waiting proposals."),
  }),
  output: executionWithProposals,
  problems: ["not_found", "wrong_state"],
});
export const reject = operation({
  id: "task-executions.reject",
  http: "POST /api/task-executions/:id/reject",
  rpc: "TaskExecutionService.RejectTaskExecution",
  summary: "Reject the proposals of an execution",
  description:
    "Rejects every undecided proposal of a waiting execution and cancels it. The transcript keeps the reason. Proposals that were already approved and written are not reverted.",
  input: z.object({
    id: z.uuid(),
    reason: z.string().trim().max(2000).default("").describe("Reason for the rejection."),
  }),
  output: executionWithProposals,
  problems: ["not_found", "wrong_state"],
});
export const release = operation({
  id: "task-executions.release",
  http: "POST /api/task-executions/:id/release",
  rpc: "TaskExecutionService.ReleaseTaskExecution",
  summary: "Release a held task execution",
  description: "Queues the execution. Hourly, daily and monthly budgets no longer hold it.",
  input: z.object({ id: z.uuid() }),
  output: execution,
  problems: ["not_found", "wrong_state"],
});
