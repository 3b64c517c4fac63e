import { z } from "zod";
import { agent } from "./agents.ts";
import { canonicalTrigger, prose, rowId, source, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { policy } from "./policy.ts";
import { task } from "./tasks.ts";

const members = {
  name: text(200).describe("Display name."),
  description: prose(20_000).nullish().describe("Short description."),
  source: source.meta({ id: "SourceId", description: "The project's platform." }),
  source_project_id: text(500).describe("Project id on the platform, for example octo/app."),
};

const limits = policy.describe("The project's limits. They can only tighten the limits of the settings.");

/** A project at one of the platforms. Events about the project carry its id. */
export const project = z
  .object({ id: rowId, ...members, policy: limits, created_at: timestamp, updated_at: timestamp })
  .meta({ id: "Project" });

/** A memory in a project's workflow context. */
const projectMemory = z.object({
  key: z.string(),
  content: z.string(),
  scope: z.string(),
  agent_id: z.string().nullable(),
  project_id: rowId.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
});

export const workflowContext = z
  .object({
    project,
    agents: z.array(agent).describe("Agents that execute these tasks, or have a capability that a task requires."),
    triggers: z
      .array(z.object({ canonical_trigger: canonicalTrigger, tasks: z.array(task) }))
      .describe(
        "Triggers of the project's source, from source event mappings and then from webhook mappings, each with the tasks that it fires. Webhook mappings whose filter only matches other projects are included.",
      ),
    recent_executions: z.array(execution).describe("The 20 latest executions, newest first."),
    memories: z.array(projectMemory).describe("The 50 latest memories of the project, newest first."),
  })
  .meta({ id: "WorkflowContext" });

export const list = operation({
  id: "projects.list",
  http: "GET /api/projects",
  rpc: "ProjectService.ListProjects",
  summary: "List projects",
  input: z.object(paging),
  output: pageOf(project),
});
export const get = operation({
  id: "projects.get",
  http: "GET /api/projects/:id",
  rpc: "ProjectService.GetProject",
  summary: "Get a project",
  input: z.object({ id: rowId }),
  output: project,
  problems: ["not_found"],
});
export const create = operation({
  id: "projects.create",
  http: "POST /api/projects",
  rpc: "ProjectService.CreateProject",
  summary: "Create a project",
  description: "New events about the project get its id.",
  input: z.object({ ...members, policy: limits.default({}) }),
  output: project,
  status: 201,
  problems: ["already_exists"],
});
export const update = operation({
  id: "projects.update",
  http: "PUT /api/projects/:id",
  rpc: "ProjectService.UpdateProject",
  summary: "Update a project",
  description: "Omitted members keep their values.",
  input: z
    .object({ ...members, policy: limits })
    .partial()
    .extend({ id: rowId }),
  output: project,
  problems: ["not_found", "already_exists"],
});
export const remove = operation({
  id: "projects.delete",
  http: "DELETE /api/projects/:id",
  rpc: "ProjectService.DeleteProject",
  summary: "Delete a project",
  description:
    "Keeps its executions, without a project. If it is paused, its queued executions, and running ones that their current attempt does not finish, are held until an operator releases them.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const getWorkflowContext = operation({
  id: "projects.workflow-context",
  http: "GET /api/projects/:id/workflow-context",
  rpc: "ProjectService.GetWorkflowContext",
  summary: "Get a project's workflow context",
  description: "Returns its agents, triggers with their tasks, recent executions and memories.",
  input: z.object({ id: rowId }),
  output: workflowContext,
  problems: ["not_found"],
});
