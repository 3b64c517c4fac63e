import { firstHeader, stringAt, valueAt } from "@signalbox/sdk";

const verbs: ReadonlyMap<string, string> = new Map([
  ["create", "created"],
  ["created", "created"],
  ["update", "updated"],
  ["updated", "updated"],
  ["delete", "deleted"],
  ["deleted", "deleted"],
]);

/**
 * The event name that the source event mappings use. The platform sends `issue` with the action
 * `created`, and in newer versions `workitem.created`; a comment is `issue_comment`, an activity of its issue.
 */
export function eventName(headers: Readonly<Record<string, string>>, payload: unknown): string {
  const header = firstHeader(headers, "x-delta-event", "x-plane-event");
  const name = stringAt(payload, ["event"], 200)?.trim() ?? (header !== null && header.length <= 200 ? header : "");
  const neutral = name.replace(/^work_?item\b/, "issue").replace(/^(issue|work_?item)[_.]comment\b/, "issue_comment");
  const verb = verbs.get(stringAt(payload, ["action"], 50)?.trim() ?? "");
  const whole = neutral.includes(".") || verb === undefined || neutral === "" ? neutral : `${neutral}.${verb}`;
  return whole === "issue_comment.created" ? "issue.activity.created" : whole;
}

/** Whether the event is about an activity on an issue, such as a comment, and not about the issue itself. */
export const isActivity = (event: string): boolean => event.startsWith("issue.activity.") || event.startsWith("issue_comment.");

/** An id, given as itself or as an object with an `id`. */
export function idAt(value: unknown, ...names: readonly string[]): string | null {
  for (const name of names) {
    const found = stringAt(value, [name], 100) ?? stringAt(valueAt(value, name), ["id"], 100);
    if (found !== null) return found.trim();
  }
  return null;
}
