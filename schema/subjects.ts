import { z } from "zod";
import { sourceName, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf } from "./operation.ts";
import { webhookEvent } from "./webhooks.ts";

const nameMembers = {
  subject: z.string().describe("Issue or pull request, as in lists, for example alpha:acme/webshop#42."),
  source: z.string(),
  project: z.string(),
  issue: z.string(),
  title: z.string().nullable().describe("Latest stored title; null if no stored event contains one."),
};

export const subjectSummary = z
  .object({ ...nameMembers, events: z.int().describe("Number of stored events about the issue."), last_event_at: timestamp })
  .meta({ id: "SubjectFound" });

/** One delivery about an issue, with everything that followed from it. */
export const subjectDelivery = z
  .object({
    event: webhookEvent.omit({ payload: true }).meta({ id: "DeliveredEvent" }),
    verdict: z.string().describe("The decision about the delivery and its reason, as text."),
    executions: z.array(
      execution
        .omit({ result: true })
        .extend({ verdict: z.string().describe("The execution's state or outcome, as text.") })
        .meta({ id: "SubjectExecution" }),
    ),
  })
  .meta({ id: "SubjectDelivery" });

export const search = operation({
  id: "subjects.search",
  http: "GET /api/subjects",
  rpc: "MonitoringService.SearchSubjects",
  summary: "Find issues and pull requests",
  description:
    "Searches by name, key, URL or number, otherwise for words in the name or title among the latest events. Newest first.",
  input: z.object({
    q: text(2_000).describe(
      "`acme/webshop#42`, `CONF-7`, the issue's URL, its number such as `42`, or words from its name or title.",
    ),
    limit: z.int().min(1).max(100).default(20).describe("Maximum number of items to return. Default: 20."),
  }),
  output: pageOf(subjectSummary),
});
export const get = operation({
  id: "subjects.get",
  http: "GET /api/subjects/:source/:project/:issue",
  rpc: "MonitoringService.GetSubject",
  summary: "Get the timeline of an issue",
  description:
    "Returns the deliveries about the issue, the decisions with their reasons, the executions and their comments, newest first.",
  input: z.object({
    source: sourceName,
    project: z.string().min(1).max(500).describe("Project at the source, URL-encoded: `acme%2Fwebshop`."),
    issue: z.string().min(1).max(500).describe("Issue at the source, for example `42`, `!7` or `CONF-7`."),
    limit: z.int().min(1).max(500).default(100).describe("Maximum number of deliveries to return. Default: 100."),
  }),
  output: z
    .object({
      ...nameMembers,
      verdict: z.string().describe("Why the issue is in its state, or why nothing happened, as text."),
      deliveries: z.array(subjectDelivery),
      more: z.boolean().describe("Whether there are older deliveries."),
      refused: z
        .array(webhookEvent.omit({ payload: true }))
        .describe("Latest refused deliveries of the source, up to ten from the last day. They may be about this issue."),
      deferred: z
        .object({
          count: z.int().describe("Number of waiting webhooks."),
          plugin: z.string().describe("Plugin that must parse them."),
          oldest_at: timestamp,
        })
        .meta({ id: "DeferredWebhooks" })
        .nullable()
        .describe(
          "Webhooks of the source that are waiting because its plugin is not running. They may be about this issue. Null if there are none.",
        ),
    })
    .meta({ id: "SubjectTimeline" }),
  problems: ["not_found"],
});
