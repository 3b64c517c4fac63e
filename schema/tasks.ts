import { z } from "zod";
import { canonicalTrigger, prose, seedResult, slug, sourceName, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";

const definition = {
  name: text(200).describe("Display name."),
  description: text(20_000).describe("What the task does; the agent reads it."),
  actor_id: slug.describe("Agent that executes the task. It need not exist: then `actor_fallback` runs."),
  actor_fallback: prose(100_000).nullish().describe("System prompt used when the agent is not found."),
  required_capabilities: z
    .array(text(100))
    .max(50)
    .describe("Capability labels. When given, the agent with the highest share of them runs the task."),
};

export const task = z.object({ id: slug, ...definition, created_at: timestamp, updated_at: timestamp }).meta({ id: "Task" });

export const list = operation({
  id: "tasks.list",
  http: "GET /api/tasks",
  rpc: "TaskService.ListTasks",
  summary: "List the task definitions.",
  input: z.object(paging),
  output: pageOf(task),
});
export const get = operation({
  id: "tasks.get",
  http: "GET /api/tasks/:id",
  rpc: "TaskService.GetTask",
  summary: "Get one task definition.",
  input: z.object({ id: slug }),
  output: task,
  problems: ["not_found"],
});
export const create = operation({
  id: "tasks.create",
  http: "POST /api/tasks",
  rpc: "TaskService.CreateTask",
  summary: "Create a task definition.",
  input: z.object({ id: slug, ...definition, required_capabilities: definition.required_capabilities.default([]) }),
  output: task,
  status: 201,
  problems: ["conflict"],
});
export const update = operation({
  id: "tasks.update",
  http: "PUT /api/tasks/:id",
  rpc: "TaskService.UpdateTask",
  summary: "Change some members of a task definition.",
  input: z.object(definition).partial().extend({ id: slug }),
  output: task,
  problems: ["not_found"],
});
export const remove = operation({
  id: "tasks.delete",
  http: "DELETE /api/tasks/:id",
  rpc: "TaskService.DeleteTask",
  summary: "Delete a task definition. Triggers mapped to it run nothing for it from then on.",
  input: z.object({ id: slug }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "tasks.seed",
  http: "POST /api/tasks/seed",
  rpc: "TaskService.SeedTasks",
  summary: "Create the nine default tasks; those that exist are left alone.",
  output: seedResult,
});
export const resolve = operation({
  id: "tasks.resolve",
  http: "GET /api/tasks/resolve",
  rpc: "TaskService.ResolveTasks",
  summary: "Say which trigger and tasks an event would fire.",
  input: z.object({ source: sourceName, event: text(200), action: prose(200).optional() }),
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
export const restart = operation({
  id: "tasks.restart",
  http: "POST /api/tasks/:id/restart",
  rpc: "TaskService.RestartTask",
  summary: "Queue a failed execution again, by its id or by the id of its task (then its latest failed one).",
  input: z.object({ id: z.string().max(128).describe("Id of an execution or of a task.") }),
  output: execution,
  problems: ["not_found", "conflict"],
});
