import { nearestName } from "@signalbox/schema/nearest";
import { builtInTriggers, sourcesWithoutActions } from "../mappings/defaults.ts";

interface Mappings {
  readonly sources: readonly {
    readonly source: string;
    readonly event_name: string;
    readonly action: string | null;
    readonly canonical_trigger: string;
  }[];
  readonly webhooks: readonly {
    readonly source: string;
    readonly path_pattern: string | null;
    readonly canonical_trigger: string | null;
  }[];
  readonly triggers: readonly { readonly canonical_trigger: string; readonly task_id: string }[];
}

/** Mappings that can start nothing, although nothing that they name is missing. */
export const idleMappings = (all: Mappings): string[] => [...unknownTriggers(all), ...unknownActions(all)];

/** Triggers with tasks that no mapping and no default has: probably mistyped, or their mapping was deleted. */
function unknownTriggers({ sources, webhooks, triggers }: Mappings): string[] {
  const mapped = [...sources, ...webhooks].flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const known = new Set([...mapped, ...builtInTriggers]);
  const tasks = Map.groupBy(
    triggers.filter(({ canonical_trigger }) => !known.has(canonical_trigger)),
    ({ canonical_trigger }) => canonical_trigger,
  );
  return [...tasks].map(([trigger, rows]) => {
    const nearest = nearestName(trigger, known);
    const suggestion = nearest === null ? "" : ` (did you mean ${nearest}?)`;
    const names = rows.map(({ task_id }) => task_id).join(", ");
    return `No event is mapped to the trigger ${trigger}${suggestion}, so nothing starts its ${rows.length === 1 ? "task" : "tasks"} ${names}.`;
  });
}

/** Mappings with an action at a source whose events have none. A webhook mapping with a path can read an action from the payload. */
const unknownActions = ({ sources, webhooks }: Mappings): string[] =>
  sources
    .filter(({ source, action }) => action !== null && sourcesWithoutActions.has(source))
    .filter(({ source }) => !webhooks.some((one) => one.source === source && one.path_pattern !== null))
    .map(
      ({ source, event_name, action }) =>
        `The mapping of ${source} ${event_name}/${action} never matches, because events of ${source} have no action. Map ${event_name} without an action, and use a webhook mapping with a jq filter to select some of these events.`,
    );
