import { z } from "zod";
import { canonicalTrigger, rowId, seedResult, slug, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { requiredStanding } from "./policy.ts";

/** Maps a source, an event and an action to a canonical trigger. */
export const sourceMapping = z
  .object({
    id: rowId,
    source: sourceName,
    event_name: z.string(),
    action: z.string().nullable(),
    canonical_trigger: canonicalTrigger,
    created_at: timestamp,
  })
  .meta({ id: "SourceEventMapping" });

/** What an event must have for a mapping to fire its task. All conditions that are set must hold. */
export const triggerConditions = z
  .object({
    min_standing: requiredStanding.describe("Minimum standing of the author. An unknown standing is accepted."),
    mention: text(200)
      .regex(/^@?[^\s@]+$/, "must be one name such as @signalbox")
      .describe(
        "Name that the visible part of the new text must mention, with or without `@`. Mentions in code and in quotations do not count.",
      ),
    label: text(200).describe("Label that the issue must have."),
    projects: z
      .array(text(500))
      .min(1)
      .max(500)
      .describe("Projects whose events fire the task, by their id on the platform, for example octo/app."),
  })
  .partial()
  .strict()
  .meta({ id: "TriggerConditions" });

/** Maps a canonical trigger to a task. */
export const triggerMapping = z
  .object({
    id: rowId,
    canonical_trigger: canonicalTrigger,
    task_id: slug,
    conditions: triggerConditions.describe(
      "Conditions that an event must meet. Without conditions, every event of the trigger fires the task.",
    ),
    created_at: timestamp,
  })
  .meta({ id: "TriggerTaskMapping" });

/** Names of the sets of mappings that the seeds make on request. */
export const optionalMappings = z.enum(["comments", "reviews", "updates", "closes"]).meta({ id: "OptionalMappings" });
const include = z
  .array(optionalMappings)
  .max(10)
  .default([])
  .describe("Optional sets to create as well. Each starts more runs. Default: none.");

export const listTriggers = operation({
  id: "triggers.list",
  http: "GET /api/tasks/triggers",
  rpc: "TaskService.ListTriggerMappings",
  summary: "List trigger-task mappings",
  description: "A trigger-task mapping maps a canonical trigger to a task that it fires.",
  input: z.object(paging),
  output: pageOf(triggerMapping),
});
export const createTrigger = operation({
  id: "triggers.create",
  http: "POST /api/tasks/triggers",
  rpc: "TaskService.CreateTriggerMapping",
  summary: "Create a trigger-task mapping",
  description: "The task must exist. If several tasks are mapped to one trigger, all of them fire.",
  input: z.object({
    canonical_trigger: canonicalTrigger,
    task_id: slug.describe("Task that the trigger fires."),
    conditions: triggerConditions.default({}).describe("Conditions that an event must meet. Default: none."),
  }),
  output: triggerMapping,
  status: 201,
  problems: ["already_exists"],
});
export const removeTrigger = operation({
  id: "triggers.delete",
  http: "DELETE /api/tasks/triggers/:id",
  rpc: "TaskService.DeleteTriggerMapping",
  summary: "Delete a trigger-task mapping",
  input: z.object({ id: rowId.describe("Id of the mapping.") }),
  problems: ["not_found"],
});
export const seedTriggers = operation({
  id: "triggers.seed",
  http: "POST /api/tasks/triggers/seed",
  rpc: "TaskService.SeedTriggerMappings",
  summary: "Create the default trigger-task mappings",
  description:
    "Mappings that already exist are not changed. The optional sets map comments, reviews, updates of pull requests, and closes to tasks; create the events of a set with `POST /api/tasks/sources/seed`.",
  input: z.object({ include }),
  output: seedResult,
});
export const listSources = operation({
  id: "sources.list",
  http: "GET /api/tasks/sources",
  rpc: "TaskService.ListSourceMappings",
  summary: "List source event mappings",
  description: "A source event mapping maps an event of a source to a canonical trigger.",
  input: z.object(paging),
  output: pageOf(sourceMapping),
});
export const createSource = operation({
  id: "sources.create",
  http: "POST /api/tasks/sources",
  rpc: "TaskService.CreateSourceMapping",
  summary: "Create a source event mapping",
  description: "Without an `action`, it matches every action of the event.",
  input: z.object({
    source: sourceName,
    event_name: text(200).describe(
      "Event name, for example `issues`. Those of Jira and Plane are named as in the default mappings, for example `gamma:issue_created`.",
    ),
    action: text(200).nullish().describe("Action of the event, for example `opened`. Default: every action."),
    canonical_trigger: canonicalTrigger,
  }),
  output: sourceMapping,
  status: 201,
  problems: ["already_exists"],
});
export const removeSource = operation({
  id: "sources.delete",
  http: "DELETE /api/tasks/sources/:id",
  rpc: "TaskService.DeleteSourceMapping",
  summary: "Delete a source event mapping",
  input: z.object({ id: rowId.describe("Id of the mapping.") }),
  problems: ["not_found"],
});
export const seedSources = operation({
  id: "sources.seed",
  http: "POST /api/tasks/sources/seed",
  rpc: "TaskService.SeedSourceMappings",
  summary: "Create the default source event mappings",
  description:
    "Mappings that already exist are not changed. The optional sets add the events of all four platforms that the defaults leave out.",
  input: z.object({ include }),
  output: seedResult,
});
const hit = {
  canonical_trigger: canonicalTrigger,
  hits: z.int(),
  last_at: timestamp,
};
export const hits = operation({
  id: "routing.hits",
  http: "GET /api/routing/hits",
  rpc: "TaskService.CountRoutingHits",
  summary: "Count routing hits",
  description: "Counts how often each event fired a trigger, and each trigger a task, in the last seven days.",
  output: z
    .object({
      from: timestamp.describe(
        "Start of the counted period: the start of the day seven days ago, in UTC, or later if there are more than 30,000 events.",
      ),
      events: z.array(
        z.object({ source: z.string(), event_name: z.string(), action: z.string().nullable(), ...hit }).meta({ id: "EventHits" }),
      ),
      tasks: z.array(z.object({ task_id: z.string(), ...hit }).meta({ id: "TaskHits" })),
    })
    .meta({ id: "RoutingHits" }),
});
