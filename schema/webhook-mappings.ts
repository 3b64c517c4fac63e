import { z } from "zod";
import { canonicalTrigger, rowId, secretText, seedResult, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

/** Fields that `extraction_rules` can fill. A parameter of `path_pattern` with the same name fills a field that has no rule. */
export const extractionFields = [
  "event_type",
  "action",
  "project_id",
  "issue_id",
  "title",
  "delivery_id",
  "actor",
  "text",
] as const;
export type ExtractionField = (typeof extractionFields)[number];

const header = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be a header name");
const secret = secretText(1000);
const noAuth = z.object({ method: z.literal("none") });
const hmac = z.object({
  method: z.literal("hmac_sha256"),
  header: header.describe("Header with the HMAC of the raw body, in hexadecimal or base64."),
  prefix: z.string().max(100).default("").describe("Prefix of the HMAC in the header, for example `sha256=`. Default: none."),
});
const token = z.object({ method: z.literal("token"), header: header.describe("Header whose value must equal the secret.") });
const allowlist = z.object({
  method: z.literal("ip_allowlist"),
  cidrs: z
    .array(z.string().max(100))
    .min(1)
    .max(1000)
    .describe("Networks or addresses from which webhooks are accepted, for example 192.0.2.0/24."),
});

/** How senders are authenticated. */
export const webhookAuth = z.discriminatedUnion("method", [noAuth, hmac.extend({ secret }), token.extend({ secret }), allowlist]);
const optionalSecret = secret.optional().describe("Secret of the sender. Default: the stored secret of the same method.");
/** `webhookAuth` of an update: a secret that is not sent keeps its value. */
export const webhookAuthUpdate = z.discriminatedUnion("method", [
  noAuth,
  hmac.extend({ secret: optionalSecret }),
  token.extend({ secret: optionalSecret }),
  allowlist,
]);
/** `webhookAuth` of a response: without the secret. */
export const webhookAuthOutput = z.discriminatedUnion("method", [noAuth, hmac, token, allowlist]);

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
  source: sourceName.describe("Source of the events. A name that is not a platform creates a new source."),
  event_type: text(200)
    .nullish()
    .describe("Event name, or event name and action joined by a dot (`issues.opened`). Required without `path_pattern`."),
  jq_filter: text(10_000)
    .nullish()
    .describe(
      "jq filter over the payload. It matches if its first output is neither false nor null. Default: every payload matches.",
    ),
  canonical_trigger: canonicalTrigger
    .nullish()
    .describe(
      "Trigger that a match fires. Required without `path_pattern`. Default with `path_pattern`: the trigger that the source event mappings assign to the extracted `event_type`.",
    ),
  path_pattern: z
    .string()
    .max(300)
    .nullish()
    .describe("URL pattern of the whole path, for example `/webhook/acme/:team`. Requires `extraction_rules`."),
  extraction_rules: z
    .record(z.string(), z.string().min(1).max(1000))
    .nullish()
    .describe(`JSONPath expressions (RFC 9535) over the payload for ${extractionFields.join(", ")}. Only with a path pattern.`),
  auth: webhookAuth.nullish().describe("How senders are authenticated. Default: `none`."),
};

export const list = operation({
  id: "webhook-mappings.list",
  http: "GET /api/webhook-mappings",
  rpc: "WebhookMappingService.ListWebhookMappings",
  summary: "List webhook mappings",
  input: z.object(paging),
  output: pageOf(webhookMapping),
});
export const get = operation({
  id: "webhook-mappings.get",
  http: "GET /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.GetWebhookMapping",
  summary: "Get a webhook mapping",
  input: z.object({ id: rowId }),
  output: webhookMapping,
  problems: ["not_found"],
});
export const create = operation({
  id: "webhook-mappings.create",
  http: "POST /api/webhook-mappings",
  rpc: "WebhookMappingService.CreateWebhookMapping",
  summary: "Create a webhook mapping",
  description:
    "Without `path_pattern`, the mapping fires a trigger for events of one type that its jq filter matches. With `path_pattern`, it turns webhooks to that path into events, by its extraction rules.",
  input: z.object(members),
  output: webhookMapping,
  status: 201,
  problems: ["already_exists", "unavailable"],
});
export const update = operation({
  id: "webhook-mappings.update",
  http: "PUT /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.UpdateWebhookMapping",
  summary: "Update a webhook mapping",
  description: "Omitted members keep their values.",
  input: z.object({
    id: rowId,
    ...members,
    source: members.source.optional(),
    auth: webhookAuthUpdate.nullish().describe(members.auth.description ?? ""),
  }),
  output: webhookMapping,
  problems: ["not_found", "already_exists", "unavailable"],
});
export const remove = operation({
  id: "webhook-mappings.delete",
  http: "DELETE /api/webhook-mappings/:id",
  rpc: "WebhookMappingService.DeleteWebhookMapping",
  summary: "Delete a webhook mapping",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "webhook-mappings.seed",
  http: "POST /api/webhook-mappings/seed",
  rpc: "WebhookMappingService.SeedWebhookMappings",
  summary: "Create the default webhook mappings",
  description: "Existing mappings are not changed.",
  output: seedResult,
});
