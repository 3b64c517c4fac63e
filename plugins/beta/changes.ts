import { stringAt, valueAt } from "@signalbox/sdk";

/** Changes contain states as numbers. */
const states: ReadonlyMap<unknown, string> = new Map([
  [1, "opened"],
  [2, "closed"],
  [3, "merged"],
  [4, "locked"],
]);
/** Changes with every update, or of no meaning to a reader. */
const silentActions = new Set([
  "updated_at",
  "updated_by_id",
  "last_edited_at",
  "last_edited_by_id",
  "relative_position",
  "prepared_at",
  "created_at",
  "id",
  "iid",
  "project_id",
  "author_id",
  "description_html",
  "head_pipeline_id",
]);
const items = /^(?:(?:Confidential )?Issue|Merge Request) Hook$/;

/** An update describes a state that the next event replaces. */
export const isSnapshot = (event: string, action: string | null): boolean => items.test(event) && action === "update";

/** The changes of an event, one line each. An `open` event lists all members as changes, so they are ignored. */
export function changesOf(event: string, action: string | null, payload: unknown): string[] {
  if (!items.test(event)) return /Note Hook$/.test(event) && action === "update" ? ["comment: edited"] : [];
  if (action === "open") return [];
  const changes = valueAt(payload, "changes");
  const names = typeof changes === "object" && changes !== null ? Object.keys(changes) : [];
  const ownChanges = names
    .filter((name) => !silentActions.has(name) && /^\w{1,50}$/.test(name))
    .slice(0, 20)
    .flatMap((name) => changeOf(name, valueAt(changes, name)));
  return [...ownChanges, ...changesOfPush(payload)];
}

function changeOf(name: string, change: unknown): string[] {
  if (name === "description") return ["description: edited"];
  const [from, to] = ["previous", "current"].map((side) => valueText(name, valueAt(change, side)));
  if (from === to) return [];
  return [`${name === "state_id" ? "state" : name.replace(/_id$/, "")}: ${from} → ${to}`];
}

/** New commits in the branch of a merge request. */
function changesOfPush(payload: unknown): string[] {
  const before = stringAt(payload, ["object_attributes", "oldrev"], 100);
  if (before === null) return [];
  const after = stringAt(payload, ["object_attributes", "last_commit", "id"], 100);
  return [`commits: ${before.slice(0, 12)} → ${after?.slice(0, 12) ?? "?"}`];
}

function valueText(name: string, value: unknown): string {
  if (name === "state_id") return states.get(value) ?? "none";
  if (Array.isArray(value)) {
    const names = value.slice(0, 50).flatMap((one) => stringAt(one, ["title"], 100) ?? stringAt(one, ["username"], 100) ?? []);
    return names.join(", ").replace(/\s+/g, " ") || "none";
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return stringAt({ value }, ["value"], 500)?.replace(/\s+/g, " ") ?? "none";
}
