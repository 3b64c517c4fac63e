import { z } from "zod";
import { agent } from "./agents.ts";
import { canonicalTrigger, prose, rowId, source, text, timestamp } from "./common.ts";
import { execution } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { task } from "./tasks.ts";

const members = {
  name: text(200),
  description: prose(20_000).nullish(),
  source: source.meta({ id: "SourceId" }),
  source_project_id: text(500).describe("The project as its platform names it, for example octo/app."),
};

/** A project at one of the platforms. Events about it carry its id. */
export const project = z.object({ id: rowId, ...members, created_at: timestamp, updated_at: timestamp }).meta({ id: "Project" });

/** A memory as it stands in a project's context. */
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
    agents: z.array(agent).describe("Those that the tasks below name, or that have a capability that one of them requires."),
    triggers: z
      .array(z.object({ canonical_trigger: canonicalTrigger, tasks: z.array(task) }))
      .describe(
        "What the events of the project's source stand for, by source mappings, then by webhook mappings, and what each fires. Whose payloads a mapping's filter lets through is not known here: it may be another project's.",
      ),
    recent_executions: z.array(execution).describe("The latest 20, newest first."),
    memories: z.array(projectMemory).describe("The latest 50 of the project, newest first."),
  })
  .meta({ id: "WorkflowContext" });

export const list = operation({
  id: "projects.list",
  http: "GET /api/projects",
  rpc: "ProjectService.ListProjects",
  summary: "List the projects.",
  input: z.object(paging),
  output: pageOf(project),
});
export const get = operation({
  id: "projects.get",
  http: "GET /api/projects/:id",
  rpc: "ProjectService.GetProject",
  summary: "Get one project.",
  input: z.object({ id: rowId }),
  output: project,
  problems: ["not_found"],
});
export const create = operation({
  id: "projects.create",
  http: "POST /api/projects",
  rpc: "ProjectService.CreateProject",
  summary: "Create a project. Events about it that come from now on carry its id.",
  input: z.object(members),
  output: project,
  status: 201,
  problems: ["conflict"],
});
export const update = operation({
  id: "projects.update",
  http: "PUT /api/projects/:id",
  rpc: "ProjectService.UpdateProject",
  summary: "Change some members of a project.",
  input: z.object(members).partial().extend({ id: rowId }),
  output: project,
  problems: ["not_found", "conflict"],
});
export const remove = operation({
  id: "projects.delete",
  http: "DELETE /api/projects/:id",
  rpc: "ProjectService.DeleteProject",
  summary: "Delete a project. Its executions stay, without it.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const getWorkflowContext = operation({
  id: "projects.workflow-context",
  http: "GET /api/projects/:id/workflow-context",
  rpc: "ProjectService.GetWorkflowContext",
  summary: "Get all that bears on a project's work: agents, triggers with their tasks, recent executions, memories.",
  input: z.object({ id: rowId }),
  output: workflowContext,
  problems: ["not_found"],
});
