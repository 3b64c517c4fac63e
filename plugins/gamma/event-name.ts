import { stringAt, timestampAt, valueAt } from "@signalbox/sdk";

/** The `issue_event_type_name` of an update that only reports a comment. */
const commentEvents: ReadonlyMap<string, string> = new Map([
  ["issue_commented", "comment_created"],
  ["issue_comment_edited", "comment_updated"],
  ["issue_comment_deleted", "comment_deleted"],
]);

/**
 * The event name that the source event mappings use: the platform's `jira:issue_created` is `gamma:issue_created`. Server and
 * Data Center report a comment as an update of its issue. If nothing else changed, it gets the name that Cloud uses,
 * `comment_created`.
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

/** An update of an issue can also contain a comment, for example a transition whose screen asks for one. */
export function hasComment(payload: unknown): boolean {
  const comment = valueAt(payload, "comment");
  return typeof comment === "object" && comment !== null && !Array.isArray(comment);
}

function hasChanges(payload: unknown): boolean {
  const items = valueAt(payload, "changelog", "items");
  return Array.isArray(items) && items.length > 0;
}
