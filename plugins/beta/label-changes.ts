import { type Json, timestampAt, valueAt } from "@signalbox/sdk";

/** One edit of the labels of an issue or merge request. Labels are given by title. */
export interface LabelChange {
  /** ISO 8601. */
  readonly when: string;
  readonly user: Json;
  readonly previous: readonly string[];
  readonly current: readonly string[];
}

/** The platform reports the initial labels of an item as an edit by its author, at most this much later. Milliseconds. */
const atBirth = 2_000;

/**
 * Collects the platform's label events into edits, oldest first. The platform has one event per label; events by one user at one
 * time are one edit. The labels before and after each edit are derived backwards from the item's current labels. A label that was
 * deleted since has no name and is left out.
 */
export function labelChanges(events: readonly Json[], item: unknown, since: number): LabelChange[] {
  const edits = Map.groupBy(events, (event) => `${timestampAt(event, "created_at")} ${valueAt(event, "user", "username")}`);
  const now = valueAt(item, "labels");
  let current = Array.isArray(now) ? now.filter((title) => typeof title === "string") : [];
  const changes: LabelChange[] = [];
  for (const edit of [...edits.values()].sort((a, b) => timeOf(b) - timeOf(a))) {
    const [added, removed] = [titlesOf(edit, "add"), titlesOf(edit, "remove")];
    const unchanged = current.filter((title) => !added.includes(title));
    const previous = [...unchanged, ...removed.filter((title) => !unchanged.includes(title))];
    const [first] = edit;
    const when = timestampAt(first, "created_at");
    const isChange = added.length + removed.length > 0 && !isBirth(edit, item);
    if (when !== null && timeOf(edit) >= since && isChange) {
      changes.unshift({ when, user: (valueAt(first, "user") ?? null) as Json, previous, current });
    }
    current = previous;
  }
  return changes;
}

const timeOf = ([event]: readonly Json[]): number => Date.parse(timestampAt(event, "created_at") ?? "");

const titlesOf = (edit: readonly Json[], action: "add" | "remove"): string[] =>
  edit.flatMap((event) => {
    const title = valueAt(event, "label", "name");
    return valueAt(event, "action") === action && typeof title === "string" ? [title] : [];
  });

function isBirth(edit: readonly Json[], item: unknown): boolean {
  const later = timeOf(edit) - Date.parse(timestampAt(item, "created_at") ?? "");
  return later <= atBirth && valueAt(edit[0], "user", "username") === valueAt(item, "author", "username");
}
