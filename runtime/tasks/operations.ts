import { problem } from "@signalbox/schema/problem";
import * as tasks from "@signalbox/schema/tasks";
import type { Bus } from "../bus.ts";
import type { Routing } from "../dispatch/routing.ts";
import { findExecution, findFailedOfTask, hasExecutionsOfTask, requeueFailed } from "../executions/queries.ts";
import { type Bound, handle } from "../operations.ts";
import { defaultTasks } from "./defaults.ts";
import { deleteTask, findTask, findTasks, insertTask, listTasks, updateTask } from "./queries.ts";

const absent = (id: string) => problem("not_found", `There is no task "${id}".`);
const isUuid = (id: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
/** Segments of paths below /api/tasks: a task of that name could not be reached. */
const reserved = ["triggers", "sources", "seed", "resolve"];

export function taskOperations(bus: Bus, routing: Routing): Bound[] {
  return [
    handle(tasks.list, (page, { sql }) => listTasks(sql, page)),
    handle(tasks.get, async ({ id }, { sql }) => (await findTask(sql, id)) ?? Promise.reject(absent(id))),
    handle(tasks.create, async (input, { sql }) => {
      if (reserved.includes(input.id))
        throw problem("bad_request", `id: "${input.id}" is reserved; choose another`, { field: "id" });
      const task = await insertTask(sql, input);
      if (!task) throw problem("conflict", `id: a task "${input.id}" exists already`, { field: "id" });
      await bus.publish("mappings");
      return task;
    }),
    handle(tasks.update, async ({ id, ...change }, { sql }) => {
      const known = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      return (await updateTask(sql, id, known)) ?? Promise.reject(absent(id));
    }),
    handle(tasks.remove, async ({ id }, { sql }) => {
      if (!(await deleteTask(sql, id))) throw absent(id);
      await bus.publish("mappings");
      return {};
    }),
    handle(tasks.seed, async (_, { sql }) => {
      let created = 0;
      for (const task of defaultTasks) if (await insertTask(sql, task)) created++;
      await bus.publish("mappings");
      return { created, skipped: defaultTasks.length - created };
    }),
    handle(tasks.resolve, async ({ source, event, action }, { sql }) => {
      const mapping = routing.find(source, event, action ?? null);
      const fired = mapping ? await findTasks(sql, routing.tasksOf(mapping.canonical_trigger).tasks) : [];
      return { source, event, action: action ?? null, canonical_trigger: mapping?.canonical_trigger ?? null, tasks: fired };
    }),
    handle(tasks.restart, async ({ id }, { sql }) => {
      const execution = isUuid(id) ? await findExecution(sql, id) : undefined;
      const failed = execution ? execution.id : await findFailedOfTask(sql, id);
      const restarted = failed && (await requeueFailed(sql, failed));
      if (restarted) {
        await bus.publish("queue");
        return restarted;
      }
      if (execution) throw problem("conflict", `The execution is ${execution.state}; only a failed one can be restarted.`);
      if ((await findTask(sql, id)) || (await hasExecutionsOfTask(sql, id))) {
        throw problem("conflict", `The task "${id}" has no failed execution to restart.`);
      }
      throw problem("not_found", `There is no execution or task "${id}".`);
    }),
  ];
}
