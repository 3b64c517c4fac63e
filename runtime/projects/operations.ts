import { problem } from "@signalbox/schema/problem";
import * as projects from "@signalbox/schema/projects";
import { findAgent } from "../agents/queries.ts";
import { listExecutions } from "../executions/queries.ts";
import type { Bus } from "../platform/bus.ts";
import { isUniqueViolation, type Queryable } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { findTasks } from "../tasks/queries.ts";
import type { Project, WorkflowContext } from "./queries.ts";
import * as queries from "./queries.ts";

const notFound = (id: number) => problem("not_found", `There is no project ${id}.`);
const takenProblem = () =>
  problem(
    "already_exists",
    "source_project_id: a project with this source and source_project_id already exists (case is ignored)",
    {
      field: "source_project_id",
    },
  );

/** The latest memories of a project, newest first. */
type MemoriesOf = (sql: Queryable, projectId: number, limit: number) => Promise<WorkflowContext["memories"]>;

/** A change of a project is published before the request is answered, so that the next event uses the new policy. */
export function projectOperations(bus: Bus, memoriesOf: MemoriesOf): BoundOperation[] {
  const publishChange = () => bus.publish("policy");
  return [
    handle(projects.list, (page, { sql }) => queries.listProjects(sql, page)),
    handle(projects.get, async ({ id }, { sql }) => (await queries.findProject(sql, id)) ?? Promise.reject(notFound(id))),
    handle(projects.create, async (input, { sql }) => {
      const project = await queries.insertProject(sql, input);
      if (!project) throw takenProblem();
      if (Object.keys(input.policy).length > 0) await publishChange();
      return project;
    }),
    handle(projects.update, async ({ id, ...change }, { sql }) => {
      const known = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      const project = await queries.updateProject(sql, id, known).catch((error) => {
        throw isUniqueViolation(error) ? takenProblem() : error;
      });
      if (!project) throw notFound(id);
      // Its source and id may have changed too, so that its policy applies to other events.
      await publishChange();
      return project;
    }),
    handle(projects.remove, async ({ id }, { sql }) => {
      if (!(await queries.deleteProject(sql, id))) throw notFound(id);
      // Its integrations no longer belong to it.
      await Promise.all([publishChange(), bus.publish("integrations")]);
      return {};
    }),
    handle(projects.getWorkflowContext, async ({ id }, { sql }) => {
      const project = await queries.findProject(sql, id);
      if (!project) throw notFound(id);
      return contextOf(sql, project, memoriesOf);
    }),
  ];
}

async function contextOf(sql: Queryable, project: Project, memoriesOf: MemoriesOf): Promise<WorkflowContext> {
  const triggers = await queries.listTriggersOf(sql, project.source);
  const tasks = await findTasks(sql, [...new Set(triggers.flatMap((one) => one.task_ids))]);
  const required = tasks.flatMap((task) => task.required_capabilities);
  const agentIds = await queries.listAgentIds(
    sql,
    tasks.map((task) => task.actor_id),
    required,
  );
  const agents = await Promise.all(agentIds.map((one) => findAgent(sql, one.id)));
  const recent = await listExecutions(sql, { limit: 20, offset: 0, order: "desc", project_id: project.id, whole: true });
  return {
    project,
    agents: agents.filter((agent) => agent !== undefined),
    triggers: triggers.map(({ canonical_trigger, task_ids }) => ({
      canonical_trigger,
      tasks: task_ids.flatMap((id) => tasks.find((task) => task.id === id) ?? []),
    })),
    recent_executions: recent.items,
    memories: await memoriesOf(sql, project.id, 50),
  };
}
