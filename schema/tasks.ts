import { z } from "zod";
import { canonicalTrigger, prose, seedResult, slug, sourceName, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { author } from "./policy.ts";

const definition = {
  name: text(200).describe("Display name."),
  description: text(20_000).describe("What the task does. The agent receives this text."),
  actor_id: slug.describe("Agent that executes the task. If it does not exist, `actor_fallback` is used."),
  actor_fallback: prose(100_000).nullish().describe("System prompt to use if the agent does not exist."),
  required_capabilities: z
    .array(text(100))
    .max(50)
    .describe("Capability labels. If any are set, the agent with the highest share of them executes the task. Default: none."),
};

export const task = z.object({ id: slug, ...definition, created_at: timestamp, updated_at: timestamp }).meta({ id: "Task" });

export const list = operation({
  id: "tasks.list",
  http: "GET /api/tasks",
  rpc: "TaskService.ListTasks",
  summary: "List tasks",
  input: z.object(paging),
  output: pageOf(task),
});
export const get = operation({
  id: "tasks.get",
  http: "GET /api/tasks/:id",
  rpc: "TaskService.GetTask",
  summary: "Get a task",
  input: z.object({ id: slug }),
  output: task,
  problems: ["not_found"],
});
export const create = operation({
  id: "tasks.create",
  http: "POST /api/tasks",
  rpc: "TaskService.CreateTask",
  summary: "Create a task",
  input: z.object({ id: slug, ...definition, required_capabilities: definition.required_capabilities.default([]) }),
  output: task,
  status: 201,
  problems: ["already_exists"],
});
export const update = operation({
  id: "tasks.update",
  http: "PUT /api/tasks/:id",
  rpc: "TaskService.UpdateTask",
  summary: "Update a task",
  description: "Omitted members keep their values.",
  input: z.object(definition).partial().extend({ id: slug }),
  output: task,
  problems: ["not_found"],
});
export const remove = operation({
  id: "tasks.delete",
  http: "DELETE /api/tasks/:id",
  rpc: "TaskService.DeleteTask",
  summary: "Delete a task",
  description: "Triggers mapped to the task no longer fire it.",
  input: z.object({ id: slug }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "tasks.seed",
  http: "POST /api/tasks/seed",
  rpc: "TaskService.SeedTasks",
  summary: "Create the default tasks",
  description: "Creates nine tasks. Existing tasks are not changed.",
  output: seedResult,
});
export const resolve = operation({
  id: "tasks.resolve",
  http: "GET /api/tasks/resolve",
  rpc: "TaskService.ResolveTasks",
  summary: "Resolve an event to its tasks",
  description: "Returns the trigger and the tasks that the event would fire.",
  input: z.object({
    source: sourceName.describe("Event source."),
    event: text(200).describe("Event name as the platform sends it."),
    action: prose(200).optional().describe("Event action."),
  }),
  output: z
    .object({
      source: z.string(),
      event: z.string(),
      action: z.string().nullable(),
      canonical_trigger: canonicalTrigger.nullable(),
      tasks: z.array(task),
    })
    .meta({ id: "Resolution" }),
});
const explainedCheck = z
  .object({
    check: z
      .string()
      .describe(
        "Name of the check, for example `event`, `bots`, `condition.label`, `webhook_mapping:3`, `budget.issue_runs_per_hour` or `pause`.",
      ),
    passes: z.boolean(),
    reason: z.string().describe("Reason of the verdict, as text."),
  })
  .meta({ id: "ExplainedCheck" });

export const explain = operation({
  id: "tasks.explain",
  http: "POST /api/tasks/resolve",
  rpc: "TaskService.ExplainWebhook",
  summary: "Explain what a webhook would start",
  description:
    "Parses the payload as a webhook of the source and returns the verdict of every mapping, filter, condition and limit that applies. Stores nothing and checks no signature.",
  input: z.object({
    source: sourceName.describe("Source, id of an integration, or a source of webhook mappings."),
    path: z
      .string()
      .max(2_000)
      .regex(/^\/webhook\/./, "must start with /webhook/, for example /webhook/acme/blue")
      .optional()
      .describe(
        "Path that the webhook is sent to, which supplies the path parameters of a webhook mapping. Default: the path of the source.",
      ),
    headers: z
      .record(z.string().max(200), z.string().max(10_000))
      .default({})
      .describe("Webhook headers, for example X-Alpha-Event."),
    payload: z.record(z.string(), z.unknown()).describe("Payload as the platform sends it."),
  }),
  output: z
    .object({
      source: z.string(),
      event: z.string(),
      action: z.string().nullable(),
      subject: z.string().nullable(),
      author: author.nullable(),
      outcome: z.enum(["dispatched", "discarded"]),
      reason: z.string().nullable().describe("Why the event would start nothing; null if it would start something."),
      canonical_trigger: canonicalTrigger.nullable().describe("First trigger that would fire."),
      canonical_triggers: z.array(canonicalTrigger),
      checks: z.array(explainedCheck).describe("Checks that decide about the whole event."),
      tasks: z.array(
        z
          .object({
            task_id: z.string(),
            canonical_trigger: canonicalTrigger,
            starts: z
              .boolean()
              .describe(
                "Whether the task would run now. If only a loop, a budget or a pause prevents that, the execution would be held or wait.",
              ),
            checks: z.array(explainedCheck),
          })
          .meta({ id: "ExplainedTask" }),
      ),
    })
    .meta({ id: "Explanation" }),
  scope: "read",
  problems: ["not_found"],
});
export const restart = operation({
  id: "tasks.restart",
  http: "POST /api/tasks/:id/restart",
  rpc: "TaskService.RestartTask",
  summary: "Restart a failed task execution",
  description: "Takes the id of an execution, or the id of a task to restart its latest failed execution.",
  input: z.object({ id: z.string().max(128).describe("Id of a task execution or of a task.") }),
  output: execution,
  problems: ["not_found", "wrong_state"],
});
