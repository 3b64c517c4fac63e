import { z } from "zod";
import { timestamp } from "./common.ts";
import { executionState } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const outcome = z.enum(["dispatched", "discarded"]).meta({ id: "EventOutcome" });

export const webhookEvent = z
  .object({
    id: z.uuid(),
    source: z.string(),
    slug: z.string().describe("The last segment of the path it came in by."),
    delivery_id: z.string().nullable(),
    event_name: z.string().nullable(),
    action: z.string().nullable(),
    actor: z.string().nullable(),
    subject: z.string().nullable(),
    canonical_triggers: z.array(z.string()),
    outcome,
    reason: z.string().nullable().describe("Why it was discarded."),
    replay_of: z.uuid().nullable(),
    polled: z.boolean().describe("A poll told of it, not a webhook."),
    received_at: timestamp,
  })
  .meta({ id: "WebhookEvent" });

export const executionRef = z.object({ id: z.uuid(), task_id: z.string() }).meta({ id: "ExecutionRef" });

/** What a sender is told. */
export const receipt = z
  .object({
    event_id: z.uuid(),
    status: z.enum(["accepted", "discarded", "duplicate"]).meta({ id: "ReceiptStatus" }),
    canonical_trigger: z.string().nullish().describe("The first trigger that fired."),
    canonical_triggers: z.array(z.string()).optional(),
    executions: z.array(executionRef).optional(),
  })
  .meta({ id: "WebhookReceipt" });

/** The door itself. It is not run as other operations are: what is verified are the raw bytes, before they are parsed. */
export const receive = operation({
  id: "webhooks.receive",
  http: "POST /webhook/:slug",
  summary: "Take a webhook of a platform: verify, store, and fire what its event is mapped to.",
  input: z.object({
    slug: z
      .string()
      .describe("`alpha`, `beta`, `gamma`, `delta`, the id of an integration, or what the path of a webhook mapping says."),
    payload: z.record(z.string(), z.unknown()).describe("As the platform sends it, with the platform's own headers."),
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
  summary: "List received webhook events, newest first.",
  input: z.object({ ...paging, source: z.string().max(64).optional(), outcome: outcome.optional() }),
  output: pageOf(webhookEvent),
});
export const get = operation({
  id: "webhook-events.get",
  http: "GET /api/webhook-events/:id",
  rpc: "WebhookEventService.GetWebhookEvent",
  summary: "Get one webhook event with its raw payload and its executions.",
  input: z.object({ id: z.uuid() }),
  output: webhookEvent
    .extend({
      payload: z.unknown().describe("The payload as it came, parsed; its text where it is nested too deep to be written again."),
      executions: z.array(executionRef.extend({ state: executionState })),
    })
    .meta({ id: "WebhookEventWithPayload" }),
  problems: ["not_found"],
});
export const replay = operation({
  id: "webhook-events.replay",
  http: "POST /api/webhook-events/:id/replay",
  rpc: "WebhookEventService.ReplayWebhookEvent",
  summary: "Dispatch a kept event once more, as a new event with `replay_of`.",
  input: z.object({ id: z.uuid() }),
  output: receipt,
  status: 202,
  alternateStatus: { status: 200, when: (output) => output.status !== "accepted" },
  problems: ["not_found"],
});
