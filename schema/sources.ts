import { z } from "zod";
import { sourceName, text } from "./common.ts";
import { operation } from "./operation.ts";

const names = (about: string) => z.array(z.string()).describe(about);

export const webhookReport = z
  .object({
    source: sourceName,
    url: z.string().describe("URL that the platform's webhook must lead to."),
    ok: z
      .boolean()
      .describe(
        "Whether the platform delivers every event that a mapping names: nothing is missing or unknown, and the webhook is active.",
      ),
    id: z.string().nullable().describe("Id of the webhook at the platform; null if none points to the URL."),
    active: z.boolean().describe("Whether the platform delivers by the webhook."),
    configured: names("Events that the webhook delivers, in the platform's names."),
    missing: names("Events that mappings name and that the webhook does not deliver, in the platform's names."),
    unknown: names("Event names of mappings that no webhook of the platform delivers."),
    changed: z
      .enum(["created", "updated"])
      .nullable()
      .meta({ id: "WebhookChange" })
      .describe("What `apply` changed at the platform; null if nothing."),
    notes: names("Anything else that is wrong with the webhook."),
  })
  .meta({ id: "WebhookReport" });

export const check = operation({
  id: "sources.check",
  http: "POST /api/sources/:source/check",
  rpc: "SourceService.CheckSource",
  summary: "Check the webhook of a source",
  description:
    "Compares the events that the platform's webhook delivers with the events that mappings name. With `apply`, creates the webhook or adds the missing events, if the token of the source may.",
  input: z.object({
    source: sourceName,
    project: text(500)
      .optional()
      .describe(
        "Project whose webhook is checked, by its id at the platform, for alpha `owner/repo`. Omit it where webhooks are not of a project.",
      ),
    integration_id: z
      .uuid()
      .optional()
      .describe("Integration whose account and webhook are used. Default: those of the environment."),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .optional()
      .describe("URL of the webhook. Default: `PUBLIC_URL` with the path of the source's webhook."),
    apply: z.boolean().default(false).describe("Creates or updates the webhook at the platform. Default: false."),
  }),
  output: webhookReport,
  scope: "admin",
  problems: ["not_found", "bad_gateway", "unavailable"],
});
