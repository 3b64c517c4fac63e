import { stringAt, valueAt } from "@signalbox/sdk";
import { isNone } from "./names.ts";

/** Fields that change with every other one. */
const bookkeepingFields = new Set([
  "last_activity_at",
  "updated_at",
  "updated_by",
  "updated_by_id",
  "sort_order",
  "completed_at",
]);
/** Too long for a line: it has its own section. */
const long = /^(?:description|comment)(?:_|$)/;
const maxChanges = 50;

/**
 * The fields that an update changed, with their old and new values. `data.changes` and `previous_attributes` contain all of
 * them; `activity` contains one, because the first envelope is sent once for each changed field.
 */
export function changesOf(event: string, payload: unknown): string[] {
  if (event === "issue.deleted") return ["issue: deleted"];
  if (event === "issue_comment.deleted") return ["comment: deleted"];
  if (!event.endsWith(".updated")) return [];
  const data = valueAt(payload, "data");
  const found = new Map<string, string>();
  const add = (field: string, from: unknown, to: unknown) => {
    const name = field.replace(/_ids?$/, "");
    if (!/^\w{1,50}$/.test(field) || bookkeepingFields.has(field) || found.has(name) || found.size >= maxChanges) return;
    found.set(name, long.test(name) ? `${name.split("_")[0]}: edited` : `${name}: ${valueText(from)} → ${valueText(to)}`);
  };
  for (const [name, change] of members(valueAt(data, "changes"))) add(name, valueAt(change, "old"), valueAt(change, "new"));
  const activity = valueAt(payload, "activity");
  const field = stringAt(activity, ["field"], 50);
  if (field !== null) add(field, valueAt(activity, "old_value"), newValue(field, valueAt(activity, "new_value"), data));
  for (const [name, before] of members(valueAt(payload, "previous_attributes")))
    add(name, before, valueAt(valueAt(data, "comment", name) === undefined ? data : valueAt(data, "comment"), name));
  return [...found.values()];
}

const members = (value: unknown): [string, unknown][] =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value).slice(0, 200) : [];

/** The first envelope contains ids of states and people in `activity`, and their names in `data`. */
function newValue(field: string, value: unknown, data: unknown): unknown {
  const state = valueAt(data, "state");
  if (field === "state_id" && valueAt(state, "id") === value) return state;
  const people = valueAt(data, field === "assignee_ids" ? "assignees" : field === "label_ids" ? "labels" : "");
  if (!Array.isArray(value) || !Array.isArray(people)) return value;
  return value.map((id) => people.find((one) => valueAt(one, "id") === id) ?? id);
}

function valueText(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.slice(0, 20).map(valueText).join(", ");
  const text = stringAt({ value }, ["value"], 500) ?? stringAt(value, ["name"], 500) ?? stringAt(value, ["display_name"], 500);
  return text === null || isNone(text) ? "none" : text.replace(/\s+/g, " ");
}
