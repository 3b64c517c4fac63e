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
 * The event name that the source event mappings use. The platform's first envelope sends `issue` with the action `created`,
 * the second `workitem.created`. A comment is `issue_comment` or `workitem.comment`, an activity of its issue.
 */
export function eventName(headers: Readonly<Record<string, string>>, payload: unknown): string {
  const header = firstHeader(headers, "x-delta-event", "x-plane-event");
  const sent = stringAt(payload, ["event"], 200)?.trim() ?? (header !== null && header.length <= 200 ? header : "");
  const neutral = ofScope(sent)
    .replace(/^work_?item\b/, "issue")
    .replace(/^(issue|work_?item)[_.]comment\b/, "issue_comment");
  const verb = verbs.get(stringAt(payload, ["action"], 50)?.trim() ?? "");
  const whole = neutral.includes(".") || verb === undefined || neutral === "" ? neutral : `${neutral}.${verb}`;
  return whole === "issue_comment.created" ? "issue.activity.created" : whole;
}

/**
 * Some versions send the name of a Python enum, `WebhookScope.ScopeChoices.WORK_ITEM_LINK_CREATED`, instead of
 * `work_item.link.created`.
 */
function ofScope(name: string): string {
  const scope = /^WebhookScope\.(?:ScopeChoices\.)?([A-Z][A-Z_]*)$/.exec(name)?.[1]?.toLowerCase();
  if (scope === undefined) return name;
  const [, thing = scope, verb] = /^(.+)_([a-z]+)$/.exec(scope) ?? [];
  return verb === undefined ? thing : `${thing.replace(/^work_?item_/, "work_item.")}.${verb}`;
}

/** Whether the event is about an activity on an issue, such as a comment, and not about the issue itself. */
export const isActivity = (event: string): boolean => event.startsWith("issue.activity.") || event.startsWith("issue_comment.");
/** Whether the event is about the issue itself. */
export const isIssue = (event: string): boolean => /^issue\.(?:created|updated|deleted)$/.test(event);

/** The platform's documentation, and some versions, contain Python's `None` instead of an empty value. */
export const isNone = (value: unknown): boolean => value === null || value === undefined || value === "None" || value === "";

/** An id, given as itself or as an object with an `id`. */
export function idAt(value: unknown, ...names: readonly string[]): string | null {
  for (const name of names) {
    const found = stringAt(value, [name], 201) ?? stringAt(valueAt(value, name), ["id"], 201);
    if (found !== null && !isNone(found.trim())) return found.trim();
  }
  return null;
}

/** The comment of an event: `data` itself in the first envelope, `data.comment` of its issue in the second. */
export function commentIn(payload: unknown): unknown {
  const data = valueAt(payload, "data");
  const comment = valueAt(data, "comment");
  return typeof comment === "object" && comment !== null && !Array.isArray(comment) ? comment : data;
}
