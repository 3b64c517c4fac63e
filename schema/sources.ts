import { z } from "zod";
import { sourceName, text } from "./common.ts";
import { operation } from "./operation.ts";

const names = (about: string) => z.array(z.string()).describe(about);

export const webhookReport = z
  .object({
    source: sourceName,
    url: z.string().describe("URL that the platform's webhook must point to."),
    ok: z
      .boolean()
      .describe(
        "Whether the platform delivers every event of the mappings: no event is missing or unknown, and the webhook is active.",
      ),
    id: z.string().nullable().describe("Webhook id on the platform; null if none points to the URL."),
    active: z.boolean().describe("Whether the webhook is active on the platform."),
    configured: names("Events that the webhook delivers, in the platform's names."),
    missing: names("Events of the mappings that the webhook does not deliver, in the platform's names."),
    unknown: names("Event names in the mappings that the platform does not have."),
    changed: z
      .enum(["created", "updated"])
      .nullable()
      .meta({ id: "WebhookChange" })
      .describe("Change that `apply` made on the platform; null if none."),
    notes: names("Other problems with the webhook."),
  })
  .meta({ id: "WebhookReport" });

export const check = operation({
  id: "sources.check",
  http: "POST /api/sources/:source/check",
  rpc: "SourceService.CheckSource",
  summary: "Check the webhook of a source",
  description:
    "Compares the events that the platform's webhook delivers with the events of the mappings. With `apply`, creates the webhook or adds the missing events, if the source's token has the permission.",
  input: z.object({
    source: sourceName,
    project: text(500)
      .optional()
      .describe(
        "Project whose webhook is checked, by its id on the platform, for alpha `owner/repo`. Omit it if the platform's webhooks do not belong to a project.",
      ),
    integration_id: z
      .uuid()
      .optional()
      .describe("Integration whose account and webhook are used. Default: the account and webhook in the environment variables."),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .optional()
      .describe("Webhook URL. Default: `PUBLIC_URL` followed by the path of the source's webhook."),
    apply: z
      .boolean()
      .default(false)
      .describe(
        "Whether to create or update the webhook on the platform, also if `TRACKER_UPDATES_ENABLED` is false. Default: `false`.",
      ),
  }),
  output: webhookReport,
  scope: "admin",
  problems: ["not_found", "bad_gateway", "unavailable"],
});
