import { stringAt, valueAt } from "@signalbox/sdk";
import { isNumber } from "./address.ts";

/** Actions that report a state which a later event replaces. Creations, comments and closes are not among them. */
const states = new Set([
  "edited",
  "labeled",
  "unlabeled",
  "assigned",
  "unassigned",
  "milestoned",
  "demilestoned",
  "synchronize",
  "locked",
  "unlocked",
  "pinned",
  "unpinned",
  "typed",
  "untyped",
  "review_requested",
  "review_request_removed",
  "converted_to_draft",
  "auto_merge_enabled",
  "auto_merge_disabled",
  "enqueued",
  "dequeued",
]);
const items = new Set(["issues", "pull_request", "discussion"]);

export const isSnapshot = (event: string, action: string | null): boolean =>
  action !== null && items.has(event) && states.has(action);

/** What an event changed, one line for each change. */
export function changesOf(event: string, action: string | null, payload: unknown): string[] {
  if (action === null || !items.has(event)) return commentChanges(event, action);
  const item = valueAt(payload, event === "issues" ? "issue" : event);
  const nameChange = (what: string, path: readonly string[]): string[] => {
    const name = line(payload, path);
    return name === null ? [] : [`${what}: ${name}`];
  };
  const changes = changesBy(event, action, payload, nameChange) ?? [];
  if (action === "closed" || action === "reopened") changes.push(stateChange(action, item));
  if (action === "transferred") changes.push(`moved: ${placeOf(payload, "repository", item)} → ${movedTo(payload) ?? "?"}`);
  return changes;
}

type Named = (what: string, path: readonly string[]) => string[];

function changesBy(event: string, action: string, payload: unknown, named: Named): string[] | undefined {
  const item = valueAt(payload, event === "issues" ? "issue" : event);
  const makers: Readonly<Record<string, () => string[]>> = {
    edited: () => edits(payload),
    labeled: () => named("label added", ["label", "name"]),
    unlabeled: () => named("label removed", ["label", "name"]),
    assigned: () => named("assignee added", ["assignee", "login"]),
    unassigned: () => named("assignee removed", ["assignee", "login"]),
    milestoned: () => named("milestone", ["milestone", "title"]),
    demilestoned: () => named("milestone removed", ["milestone", "title"]),
    typed: () => named("type", ["type", "name"]),
    untyped: () => named("type removed", ["type", "name"]),
    review_requested: () => [
      ...named("review requested of", ["requested_reviewer", "login"]),
      ...named("review requested of team", ["requested_team", "name"]),
    ],
    review_request_removed: () => named("review request removed", ["requested_reviewer", "login"]),
    synchronize: () => changesOfPush(payload),
    ready_for_review: () => ["draft: yes → no"],
    converted_to_draft: () => ["draft: no → yes"],
    deleted: () => [`${event === "issues" ? "issue" : event.replace("_", " ")}: deleted`],
    locked: () => [`locked${line(item, ["active_lock_reason"]) ? ` (${line(item, ["active_lock_reason"])})` : ""}`],
    unlocked: () => ["unlocked"],
    answered: () => named("answer by", ["answer", "user", "login"]),
    category_changed: () => named("category was", ["changes", "category", "from", "name"]),
  };
  return Object.hasOwn(makers, action) ? makers[action]?.() : undefined;
}

const commentChanges = (event: string, action: string | null): string[] =>
  /comment|review/.test(event) && (action === "edited" || action === "deleted" || action === "dismissed")
    ? [`${event.endsWith("review") ? "review" : "comment"}: ${action}`]
    : [];

function edits(payload: unknown): string[] {
  const changes = valueAt(payload, "changes");
  const to = valueAt(payload, "issue") ?? valueAt(payload, "pull_request") ?? valueAt(payload, "discussion");
  const found: string[] = [];
  const title = line(changes, ["title", "from"]);
  if (title !== null) found.push(`title: ${title} → ${line(to, ["title"]) ?? "none"}`);
  if (valueAt(changes, "body") !== undefined) found.push("description: edited");
  const base = line(changes, ["base", "ref", "from"]);
  if (base !== null) found.push(`base: ${base} → ${line(to, ["base", "ref"]) ?? "none"}`);
  return found;
}

function changesOfPush(payload: unknown): string[] {
  const [before, after] = ["before", "after"].map((name) => stringAt(payload, [name], 100)?.slice(0, 12));
  const count = valueAt(payload, "pull_request", "commits");
  const total = typeof count === "number" ? `, ${count} commits in total` : "";
  return [`commits: ${before ?? "?"} → ${after ?? stringAt(payload, ["pull_request", "head", "sha"], 12) ?? "?"}${total}`];
}

function stateChange(action: string, item: unknown): string {
  if (action === "reopened") return "state: closed → open";
  if (valueAt(item, "merged") === true) return "state: open → merged";
  const stateReason = line(item, ["state_reason"]);
  return `state: open → closed${stateReason ? ` (${stateReason.replaceAll("_", " ")})` : ""}`;
}

/** Where a transferred issue is now, as `owner/repo#12`. */
function movedTo(payload: unknown): string | null {
  const to = valueAt(payload, "changes");
  return valueAt(to, "new_issue") === undefined ? null : placeOf(to, "new_repository", valueAt(to, "new_issue"));
}

const placeOf = (of: unknown, repository: string, issue: unknown): string =>
  `${line(of, [repository, "full_name"]) ?? "?"}#${isNumber(valueAt(issue, "number")) ? valueAt(issue, "number") : "?"}`;

/** In one line, so that a title cannot add lines of its own. */
const line = (value: unknown, path: readonly string[]): string | null =>
  stringAt(value, path, 300)?.replace(/\s+/g, " ").trim() || null;
