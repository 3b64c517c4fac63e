import { problem } from "@signalbox/schema/problem";
import type { Queryable } from "../platform/database/client.ts";
import type { BoundOperation, Context } from "../platform/operation.ts";
import { projectOfExecution } from "./queries.ts";

type AllowedProjects = ReadonlySet<number>;
/** Checks an input and returns it, restricted to the projects of the key if the caller names none. */
type Bounds = (input: Record<string, unknown>, allowed: AllowedProjects, context: Context) => Promise<unknown>;

/** Checks the member `project_id`. A key for one project does not have to name it. */
const byMember: Bounds = async (input, allowedProjects, { actor }) => {
  const { project_id } = input;
  if (typeof project_id === "number") {
    if (allowedProjects.has(project_id)) return input;
    throw problem("forbidden", `project_id: ${restriction(actor.name, allowedProjects)}`, { field: "project_id" });
  }
  const [only, ...others] = allowedProjects;
  if (only === undefined || others.length > 0)
    throw problem("forbidden", `project_id: ${restriction(actor.name, allowedProjects)}; name one of them`, {
      field: "project_id",
    });
  return { ...input, project_id: only };
};

/** For the caller, an execution of another project does not exist. */
const byExecution: Bounds = async (input, allowed, { sql }) => {
  const id = String(input.id);
  if (await isWithin(sql, id, allowed)) return input;
  throw problem("not_found", `There is no task execution ${id}.`);
};

const byProject: Bounds = async (input, allowed, { actor }) => {
  if (allowed.has(Number(input.id))) return input;
  throw problem("forbidden", restriction(actor.name, allowed));
};

/** The operations that a key restricted to projects may call. All others are refused. */
const bounds: Readonly<Record<string, Bounds>> = {
  "task-executions.list": byMember,
  "policy.get": byMember,
  "task-executions.get": byExecution,
  "task-executions.events": byExecution,
  "task-executions.cancel": byExecution,
  "task-executions.approve": byExecution,
  "task-executions.reject": byExecution,
  "task-executions.release": byExecution,
  "tasks.restart": byExecution,
  "projects.get": byProject,
  "projects.workflow-context": byProject,
};

/** The same operations, restricted to the projects of the calling key. */
export const withinProjects = (operations: readonly BoundOperation[]): BoundOperation[] =>
  operations.map((one) => {
    const { op } = one;
    if (op.scope === "open") return one;
    const check = async (input: unknown, context: Context): Promise<unknown> => {
      const { projects, name } = context.actor;
      if (!projects) return input;
      const allowed = new Set(projects);
      const within = bounds[op.id];
      if (!within) throw problem("forbidden", `${sentence(restriction(name, allowed))}, and ${op.id} covers all projects.`);
      return within(input as Record<string, unknown>, allowed, context);
    };
    return {
      op,
      run: op.streaming ? withCheckedInput(one, check) : async (input, context) => one.run(await check(input, context), context),
    };
  });

const withCheckedInput = (
  one: BoundOperation,
  check: (input: unknown, context: Context) => Promise<unknown>,
): BoundOperation["run"] =>
  async function* (input, context) {
    yield* one.run(await check(input, context), context) as AsyncIterable<unknown>;
  };

/** The part of an error that names the projects of the key. */
function restriction(name: string, projects: Iterable<number>): string {
  const ids = [...projects];
  return `the API key "${name}" is restricted to ${ids.length === 1 ? "the project" : "the projects"} ${ids.join(", ")}`;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

async function isWithin(sql: Queryable, id: string, allowed: AllowedProjects): Promise<boolean> {
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) return false;
  const project = await projectOfExecution(sql, id);
  return project !== null && allowed.has(project);
}
