import { z } from "zod";
import { canonicalTrigger, rowId, seedResult, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

/** What `extraction_rules` may fill; a parameter of `path_pattern` by one of these names fills it where no rule does. */
export const extractionFields = ["event_type", "action", "project_id", "issue_id", "delivery_id", "actor", "text"] as const;
export type ExtractionField = (typeof extractionFields)[number];

const header = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of a header");
const secret = z.string().min(1, "must not be empty").max(1000);
const none = z.object({ method: z.literal("none") });
const hmac = z.object({
  method: z.literal("hmac_sha256"),
  header: header.describe("Header that carries the HMAC of the raw body, as hexadecimal digits or base64."),
  prefix: z.string().max(100).default("").describe("What stands before it in the header, for example `sha256=`."),
});
const token = z.object({ method: z.literal("token"), header: header.describe("Header that must equal the secret.") });
const allowlist = z.object({
  method: z.literal("ip_allowlist"),
  cidrs: z.array(z.string().max(100)).min(1).max(1000).describe("Networks such as 192.0.2.0/24, or addresses."),
});

/** How senders prove themselves. */
export const webhookAuth = z.discriminatedUnion("method", [none, hmac.extend({ secret }), token.extend({ secret }), allowlist]);
const kept = secret.optional().describe("Absent: the one that is stored for the same method.");
/** The same where a secret may be stored already. */
export const webhookAuthUpdate = z.discriminatedUnion("method", [
  none,
  hmac.extend({ secret: kept }),
  token.extend({ secret: kept }),
  allowlist,
]);
/** The same without its secret, which is never shown. */
export const webhookAuthOutput = z.discriminatedUnion("method", [none, hmac, token, allowlist]);

export const webhookMapping = z
  .object({
    id: rowId,
    source: sourceName,
    event_type: z.string().nullable(),
    jq_filter: z.string().nullable(),
    canonical_trigger: canonicalTrigger.nullable(),
    path_pattern: z.string().nullable(),
    extraction_rules: z.record(z.string(), z.string()).nullable(),
    auth: webhookAuthOutput,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "WebhookMapping" });

const members = {
  source: sourceName.describe("Source of the events; another name than those of the platforms makes a source of its own."),
  event_type: text(200).nullish().describe("First shape: event name, or name and action joined by a dot (`issues.opened`)."),
  jq_filter: text(10_000).nullish().describe("jq over the payload. It matches when its first output is neither false nor null."),
  canonical_trigger: canonicalTrigger
    .nullish()
    .describe(
      "Trigger that a match fires. Without it (second shape) the extracted event_type is looked up in the source mappings.",
    ),
  path_pattern: z
    .string()
    .max(300)
    .nullish()
    .describe("Second shape: the whole path as a URL pattern, for example `/webhook/acme/:team`."),
  extraction_rules: z
    .record(z.string(), z.string().min(1).max(1000))
    .nullish()
    .describe(`Second shape: JSONPath (RFC 9535) of ${extractionFields.join(", ")} in the payload.`),
  auth: webhookAuth.nullish().describe("How senders prove themselves; default: they need not."),
};

export const list = operation({
  id: "webhook-mappings.list",
  http: "GET /api/webhook-mappings",
  rpc: "WebhookMappingService.ListWebhookMappings",
  summary: "List webhook mappings.",
  input: z.object(paging),
  output: pageOf(webhookMapping),
});
export const get = operation({
  id: "webhook-mappings.get",
  http: "GET /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.GetWebhookMapping",
  summary: "Get one webhook mapping.",
  input: z.object({ id: rowId }),
  output: webhookMapping,
  problems: ["not_found"],
});
export const create = operation({
  id: "webhook-mappings.create",
  http: "POST /api/webhook-mappings",
  rpc: "WebhookMappingService.CreateWebhookMapping",
  summary: "Create a webhook mapping: event type and jq filter to trigger, or path pattern and extraction rules to event.",
  input: z.object(members),
  output: webhookMapping,
  status: 201,
  problems: ["conflict", "unavailable"],
});
export const update = operation({
  id: "webhook-mappings.update",
  http: "PUT /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.UpdateWebhookMapping",
  summary: "Update a webhook mapping; members that are not sent stay.",
  input: z.object({
    ...{ id: rowId, ...members },
    source: members.source.optional(),
    auth: webhookAuthUpdate.nullish().describe(members.auth.description ?? ""),
  }),
  output: webhookMapping,
  problems: ["not_found", "conflict", "unavailable"],
});
export const remove = operation({
  id: "webhook-mappings.delete",
  http: "DELETE /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.DeleteWebhookMapping",
  summary: "Delete a webhook mapping.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "webhook-mappings.seed",
  http: "POST /api/webhook-mappings/seed",
  rpc: "WebhookMappingService.SeedWebhookMappings",
  summary: "Create the default webhook mappings; those that exist are left alone.",
  output: seedResult,
});
