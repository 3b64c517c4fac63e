import { stringAt, timestampAt, valueAt } from "@signalbox/sdk";

/** The `issue_event_type_name` of an update that only reports a comment. */
const commentEvents: ReadonlyMap<string, string> = new Map([
  ["issue_commented", "comment_created"],
  ["issue_comment_edited", "comment_updated"],
  ["issue_comment_deleted", "comment_deleted"],
]);

/**
 * The event name that the source event mappings use. The platform calls it `jira:issue_created`; mappings call it
 * `gamma:issue_created`. Server and Data Center report a comment as an update of its issue: where nothing else changed,
 * it is named as Cloud names it, `comment_created`.
 */
export function eventName(payload: unknown): string {
  const name =
    stringAt(payload, ["webhookEvent"], 200)
      ?.trim()
      .replace(/^jira:/, "gamma:") ?? "";
  if (name !== "gamma:issue_updated" || hasChanges(payload)) return name;
  const type = stringAt(payload, ["issue_event_type_name"], 100)?.trim() ?? "";
  return commentEvents.get(type) ?? (hasComment(payload) ? byTimes(payload) : name);
}

/** Versions before 7.2 send no `issue_event_type_name`. */
function byTimes(payload: unknown): string {
  const [created, updated] = [timestampAt(payload, "comment", "created"), timestampAt(payload, "comment", "updated")];
  return created !== null && updated !== null && updated > created ? "comment_updated" : "comment_created";
}

export const isComment = (event: string): boolean => event.startsWith("comment_");
export const isIssue = (event: string): boolean => event.startsWith("gamma:issue_");

/** An update of an issue can contain a comment too: a move by a screen that asks for one. */
export function hasComment(payload: unknown): boolean {
  const comment = valueAt(payload, "comment");
  return typeof comment === "object" && comment !== null && !Array.isArray(comment);
}

function hasChanges(payload: unknown): boolean {
  const items = valueAt(payload, "changelog", "items");
  return Array.isArray(items) && items.length > 0;
}
