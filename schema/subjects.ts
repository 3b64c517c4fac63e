import { z } from "zod";
import { sourceName, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf } from "./operation.ts";
import { webhookEvent } from "./webhooks.ts";

const named = {
  subject: z.string().describe("As lists show it, for example alpha:acme/webshop#42."),
  source: z.string(),
  project: z.string(),
  issue: z.string(),
};

export const subjectFound = z
  .object({ ...named, events: z.int().describe("Stored events about it."), last_event_at: timestamp })
  .meta({ id: "SubjectFound" });

/** One delivery about an issue, with everything that followed from it. */
export const subjectDelivery = z
  .object({
    event: webhookEvent.omit({ payload: true }).meta({ id: "DeliveredEvent" }),
    verdict: z.string().describe("What was decided about the delivery and why, in words."),
    executions: z.array(
      execution
        .omit({ result: true })
        .extend({ verdict: z.string().describe("How the execution is, or how it ended, in words.") })
        .meta({ id: "SubjectExecution" }),
    ),
  })
  .meta({ id: "SubjectDelivery" });

export const search = operation({
  id: "subjects.search",
  http: "GET /api/subjects",
  rpc: "MonitoringService.SearchSubjects",
  summary: "Find issues and pull requests",
  description: "By name, key or URL, otherwise by a part of the name among the newest events. Returns the latest first.",
  input: z.object({
    q: text(2_000).describe("`acme/webshop#42`, `CONF-7`, the URL of the issue, or a part of its name such as `#42`."),
    limit: z.int().min(1).max(100).default(20).describe("Maximum number of items to return. Default: 20."),
  }),
  output: pageOf(subjectFound),
});
export const get = operation({
  id: "subjects.get",
  http: "GET /api/subjects/:source/:project/:issue",
  rpc: "MonitoringService.GetSubject",
  summary: "Get the timeline of an issue",
  description:
    "What arrived about the issue, what was decided about it and why, the executions that followed, and their comments; newest first.",
  input: z.object({
    source: sourceName,
    project: z.string().min(1).max(500).describe("Project at the source, URL-encoded: `acme%2Fwebshop`."),
    issue: z.string().min(1).max(500).describe("Issue at the source, for example `42`, `!7` or `CONF-7`."),
    limit: z.int().min(1).max(500).default(100).describe("Maximum number of deliveries to return. Default: 100."),
  }),
  output: z
    .object({
      ...named,
      verdict: z.string().describe("Why the issue is as it is, or why nothing happened for it, in words."),
      deliveries: z.array(subjectDelivery),
      more: z.boolean().describe("Whether there are older deliveries."),
      refused: z
        .array(webhookEvent.omit({ payload: true }))
        .describe("Latest refused deliveries of the source, up to ten of the last day: they may have been about this issue."),
      deferred: z
        .object({
          count: z.int().describe("Webhooks that wait."),
          plugin: z.string().describe("The plugin that has to parse them."),
          oldest_at: timestamp,
        })
        .meta({ id: "DeferredWebhooks" })
        .nullable()
        .describe(
          "Webhooks of the source that wait because its plugin is not running: they may be about this issue; null if none.",
        ),
    })
    .meta({ id: "SubjectTimeline" }),
  problems: ["not_found"],
});
