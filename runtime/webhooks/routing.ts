import { allSourceMappings, allTriggerMappings, type SourceMapping, type TaskMapping } from "../mappings/queries.ts";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";

/** The trigger of an event and the tasks of a trigger, in memory. */
export interface Routing extends CachedValue {
  /** The mapping of an event. A mapping with the exact action takes precedence over one for any action. */
  find(source: string, event: string, action: string | null): SourceMapping | undefined;
  /** The mappings of a trigger to existing tasks, in their order; the ids of missing tasks in `missingTasks`. */
  tasksOf(trigger: string): TriggeredTasks;
}
interface TriggeredTasks {
  readonly tasks: readonly TaskMapping[];
  readonly missingTasks: readonly string[];
}

type Triggers = Map<string, { tasks: TaskMapping[]; missingTasks: string[] }>;
const noTasks: TriggeredTasks = { tasks: [], missingTasks: [] };

/** Reads the mappings once, and again whenever they change on any replica. */
export async function openRouting(sql: Sql, bus: Bus, log: Log): Promise<Routing> {
  let sources = new Map<string, SourceMapping>();
  let triggers: Triggers = new Map();
  const read = async () => {
    const [mappings, tasks] = await Promise.all([allSourceMappings(sql), allTriggerMappings(sql)]);
    sources = new Map(mappings.map((mapping) => [key(mapping.source, mapping.event_name, mapping.action), mapping]));
    triggers = new Map();
    for (const mapping of tasks) {
      const entry = triggers.get(mapping.canonical_trigger) ?? { tasks: [], missingTasks: [] };
      if (mapping.task_exists) entry.tasks.push(mapping);
      else entry.missingTasks.push(mapping.task_id);
      triggers.set(mapping.canonical_trigger, entry);
    }
  };
  const cached = await openCachedValue({ name: "routing", topic: "mappings", read, bus, log });
  return {
    ...cached,
    find: (source, event, action) => sources.get(key(source, event, action)) ?? sources.get(key(source, event, null)),
    tasksOf: (trigger) => triggers.get(trigger) ?? noTasks,
  };
}

const key = (source: string, event: string, action: string | null): string => `${source}\0${event}\0${action ?? "\0"}`;
