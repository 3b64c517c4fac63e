import { fieldProblem, problem } from "@signalbox/schema/problem";
import * as tasks from "@signalbox/schema/tasks";
import type { Bus } from "../platform/bus.ts";
import type { EventNames } from "../platform/event-names.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { defaultTasks } from "./defaults.ts";
import { deleteTask, findTask, findTasks, insertTask, listTasks, updateTask } from "./queries.ts";

const notFound = (id: string) => problem("not_found", `There is no task "${id}".`);
/** Path segments below /api/tasks, which a task's id must not shadow. */
const reservedIds = ["triggers", "sources", "seed", "resolve"];

/** Looks up the triggers and tasks of an event, like `webhooks/routing.ts`. */
interface TriggerLookup {
  find(source: string, event: string, action: string | null): { readonly canonical_trigger: string } | undefined;
  tasksOf(trigger: string): { readonly tasks: readonly { readonly task_id: string }[] };
}

export function taskOperations(bus: Bus, routing: TriggerLookup, names: Pick<EventNames, "read">): BoundOperation[] {
  return [
    handle(tasks.list, (page, { sql }) => listTasks(sql, page)),
    handle(tasks.get, async ({ id }, { sql }) => (await findTask(sql, id)) ?? Promise.reject(notFound(id))),
    handle(tasks.create, async (input, { sql }) => {
      if (reservedIds.includes(input.id)) throw fieldProblem("id", `"${input.id}" is reserved; choose another`);
      const task = await insertTask(sql, input);
      if (!task) throw problem("already_exists", `id: a task with the id "${input.id}" already exists`, { field: "id" });
      await bus.publish("mappings");
      return task;
    }),
    handle(tasks.update, async ({ id, ...change }, { sql }) => {
      const known = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
      const task = await updateTask(sql, id, known);
      if (!task) throw notFound(id);
      // The policy of its agent decides which events start the task.
      await bus.publish("mappings");
      return task;
    }),
    handle(tasks.remove, async ({ id }, { sql }) => {
      if (!(await deleteTask(sql, id))) throw notFound(id);
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
      const named = await names.read(source, { event_name: event, action: action ?? null });
      const mapping = routing.find(source, event, action ?? null) ?? routing.find(source, named.event_name, named.action);
      const firedTasks = mapping
        ? await findTasks(
            sql,
            routing.tasksOf(mapping.canonical_trigger).tasks.map(({ task_id }) => task_id),
          )
        : [];
      return {
        source,
        event,
        action: action ?? null,
        canonical_trigger: mapping?.canonical_trigger ?? null,
        tasks: firedTasks,
      };
    }),
  ];
}
