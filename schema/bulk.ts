import { z } from "zod";
import { rowId, slug } from "./common.ts";
import { execution, executionState, finishedFilter } from "./executions.ts";
import { historyFilter } from "./history.ts";
import { nearestName } from "./nearest.ts";
import { operation } from "./operation.ts";
import { outcome, replayOptions, webhookEvent } from "./webhooks.ts";

const { from, to, subject, q } = historyFilter;
const sharedFilters = { from, to, subject, q };

/** Strict, because a misspelled member would otherwise select everything. */
function filterOf<T extends z.ZodRawShape>(shape: T) {
  const known = Object.keys(shape);
  const error = (issue: z.core.$ZodRawIssue): string | undefined => {
    if (issue.code !== "unrecognized_keys") return undefined;
    const [name = ""] = issue.keys;
    const suggestion = nearestName(name, known);
    const help = suggestion ? `did you mean "${suggestion}"?` : `it takes ${known.join(", ")}`;
    return `has no member ${JSON.stringify(name.slice(0, 100))}; ${help}`;
  };
  return z.strictObject(shape, { error });
}
const executionFilter = filterOf({
  ...sharedFilters,
  ...finishedFilter,
  state: executionState.optional(),
  task_id: slug.optional(),
  agent_id: slug
    .optional()
    .describe("Selects only executions that this agent has begun. One that waits for its first attempt has no agent yet."),
  project_id: rowId.optional(),
  event_id: z.uuid().optional(),
}).meta({ id: "ExecutionFilter" });
const eventFilter = filterOf({
  ...sharedFilters,
  source: z.string().max(64).optional(),
  outcome: outcome.exclude(["refused"]).optional(),
}).meta({ id: "EventFilter" });

const agreement = {
  expect: z
    .int()
    .min(0)
    .optional()
    .describe("Number of items that the caller expects. If another number matches, the request is refused with 409."),
  confirm: z.string().max(200).optional().describe("`confirm` from the preview. If absent, nothing is changed."),
};
const answer = {
  count: z.int().describe("Number of matching items that the action applies to."),
  confirm: z
    .string()
    .nullable()
    .describe("Token that confirms the action: send it with the same action and filter. Null after the action has run."),
  changed: z.int().describe("Number of items that were changed; 0 in a preview."),
  skipped: z.int().describe("Number of items that were skipped, because they changed after the preview or were refused."),
  first_error: z.string().nullable().describe("Why the first item was skipped; null if none was skipped."),
};

export const bulkActions = ["restart", "cancel", "release", "approve", "reject"] as const;
export const executions = operation({
  id: "task-executions.bulk",
  http: "POST /api/task-executions/bulk",
  rpc: "TaskExecutionService.ChangeTaskExecutions",
  summary: "Change task executions in bulk",
  description:
    "The first call, without `confirm`, changes nothing: it returns the number of matching executions, the latest ten, and the `confirm` token that runs the action. Executions that the action does not apply to, and executions created after the preview, are left out.",
  input: z.object({
    action: z.enum(bulkActions).meta({ id: "BulkAction" }),
    filter: executionFilter.describe(
      "Filter for the executions, as in the list. Empty: every execution that the action applies to.",
    ),
    reason: z.string().trim().max(2000).default("").describe("Reason for the rejection. Only with `reject`."),
    ...agreement,
  }),
  output: z
    .object({
      action: z.enum(bulkActions).meta({ id: "BulkAction" }),
      filter: executionFilter,
      ...answer,
      samples: z.array(execution.omit({ result: true }).meta({ id: "BulkExecution" })).describe("The latest ten that match."),
    })
    .meta({ id: "BulkOfExecutions" }),
  problems: ["changed_meanwhile"],
  isPreview: ({ confirm }) => confirm !== null,
});

export const events = operation({
  id: "webhook-events.bulk",
  http: "POST /api/webhook-events/bulk",
  rpc: "WebhookEventService.ReplayWebhookEvents",
  summary: "Replay webhook events in bulk",
  description:
    "The first call, without `confirm`, changes nothing: it returns the number of matching events, the latest ten, and the `confirm` token that replays them, oldest first. Events without a stored payload, and events received after the preview, are left out. A second call with the same `confirm` does not replay an event twice.",
  input: z.object({
    action: z.literal("replay"),
    filter: eventFilter.describe("Filter for the events, as in the list. Empty: all events."),
    ...replayOptions,
    ...agreement,
  }),
  output: z
    .object({
      action: z.literal("replay"),
      filter: eventFilter,
      ...answer,
      samples: z.array(webhookEvent.omit({ payload: true }).meta({ id: "BulkEvent" })).describe("The latest ten that match."),
    })
    .meta({ id: "BulkOfEvents" }),
  problems: ["changed_meanwhile"],
  isPreview: ({ confirm }) => confirm !== null,
});
