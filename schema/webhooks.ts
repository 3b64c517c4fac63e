import { z } from "zod";
import { prose, slug, timestamp, unreadable } from "./common.ts";
import { executionState } from "./executions.ts";
import { fieldsOf, historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";
import { author } from "./policy.ts";

export const outcome = z.enum(["dispatched", "discarded", "refused"]).meta({
  id: "EventOutcome",
  description:
    "`dispatched`: it started tasks or ran a command; `discarded`: it started nothing, for the `reason`; `refused`: the request was not accepted, for the `reason`.",
});

export const webhookEvent = z
  .object({
    id: z.uuid(),
    source: z.string(),
    slug: z.string().describe("Last segment of the path that received the webhook."),
    delivery_id: z.string().nullable(),
    event_name: z.string().nullable(),
    action: z.string().nullable(),
    actor: z.string().nullable(),
    author: author.nullable().describe("Who caused the event; null if the platform does not say."),
    subject: z.string().nullable(),
    subject_title: z
      .string()
      .nullable()
      .describe("Title of the subject when the event arrived; null if it is unknown or was removed with the payload."),
    canonical_triggers: z.array(z.string()),
    outcome,
    reason: z
      .string()
      .nullable()
      .describe("Why the event was discarded or refused, why it started nothing, or what its command did; otherwise null."),
    replay_of: z.uuid().nullable().describe("Event that this one replays; null if it is not a replay."),
    polled: z.boolean().describe("Whether the event came from a poll instead of a webhook."),
    occurred_at: timestamp.nullable().describe("When the event happened on the platform; null if the platform does not say."),
    received_at: timestamp,
    body_removed_at: timestamp
      .nullable()
      .describe("When retention or an erasure removed payload and headers; null if they are stored."),
    payload: z
      .unknown()
      .optional()
      .describe("Received payload as JSON, or as text if it is nested too deeply. Lists include it only if `fields` names it."),
    unreadable: unreadable("payload"),
  })
  .meta({ id: "WebhookEvent" });

export const executionRef = z.object({ id: z.uuid(), task_id: z.string() }).meta({ id: "ExecutionRef" });

/** Response to the sender of a webhook. */
export const receipt = z
  .object({
    event_id: z.uuid(),
    status: z.enum(["accepted", "discarded", "duplicate"]).meta({ id: "ReceiptStatus" }),
    canonical_trigger: z.string().nullish().describe("First trigger that fired."),
    canonical_triggers: z.array(z.string()).optional().describe("All triggers that fired."),
    executions: z.array(executionRef).optional(),
  })
  .meta({ id: "WebhookReceipt" });

/** Unlike other operations, it does not validate `input`: the raw bytes are verified before they are parsed. */
export const receive = operation({
  id: "webhooks.receive",
  http: "POST /webhook/:slug",
  summary: "Receive a webhook",
  description: "Verifies and stores the webhook, and fires the tasks that are mapped to its event.",
  input: z.object({
    slug: z
      .string()
      .describe(
        "`alpha`, `beta`, `gamma`, `delta`, the id of an integration, or a segment that the path pattern of a webhook mapping matches.",
      ),
    payload: z.record(z.string(), z.unknown()).describe("Payload as the platform sends it, with the platform's headers."),
  }),
  output: receipt,
  status: 202,
  alternateStatus: { status: 200, when: (output) => output.status !== "accepted" },
  problems: ["unauthenticated", "forbidden", "not_found", "unavailable"],
  scope: "open",
});
export const list = operation({
  id: "webhook-events.list",
  http: "GET /api/webhook-events",
  rpc: "WebhookEventService.ListWebhookEvents",
  summary: "List webhook events",
  description: "Newest first. Refused deliveries are listed only with the outcome `refused`.",
  input: z.object({
    ...historyFilter,
    fields: fieldsOf(webhookEvent, ["payload"]),
    source: z.string().max(64).optional().describe("Return only events of this source."),
    outcome: outcome.optional(),
  }),
  output: historyOf(webhookEvent),
});
export const get = operation({
  id: "webhook-events.get",
  http: "GET /api/webhook-events/:id",
  rpc: "WebhookEventService.GetWebhookEvent",
  summary: "Get a webhook event",
  description: "Includes the raw payload and the event's executions.",
  input: z.object({ id: z.uuid() }),
  output: webhookEvent
    .extend({
      payload: z.unknown(),
      executions: z.array(executionRef.extend({ state: executionState })),
    })
    .meta({ id: "WebhookEventWithPayload" }),
  problems: ["not_found"],
});
export const replayOptions = {
  dry_run: z
    .boolean()
    .default(false)
    .describe(
      "Whether the executions only record their writes, as `proposals`, and send nothing to the tracker. Default: `false`.",
    ),
  agent_id: slug.optional().describe("Agent that executes the tasks. Default: each task's own agent."),
  task_id: slug
    .optional()
    .describe("Only task to execute, even if no trigger maps to it. Default: all tasks that the routing selects."),
  prompt: prose(100_000).optional().describe("Prompt to try instead of the agent's own. Only with `dry_run`."),
};
export const replay = operation({
  id: "webhook-events.replay",
  http: "POST /api/webhook-events/:id/replay",
  rpc: "WebhookEventService.ReplayWebhookEvent",
  summary: "Replay a webhook event",
  description:
    "Dispatches the event again, as a new event with `replay_of`. To see what another agent or another prompt would answer, use `dry_run`.",
  input: z.object({ id: z.uuid(), ...replayOptions }),
  output: receipt,
  status: 202,
  alternateStatus: { status: 200, when: (output) => output.status !== "accepted" },
  problems: ["not_found", "wrong_state"],
});
