import {
  firstHeader,
  hasInvisibleMarker,
  hasMarker,
  type SourceEvent,
  type Subject,
  sanitizeText,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { isIdentifier } from "./address.ts";
import { changesOf, eventText } from "./event-text.ts";
import { authorOf } from "./people.ts";

/** Types of events that are about an issue, and the path of the issue in `data`. */
const places: Readonly<Record<string, readonly string[]>> = {
  Issue: [],
  Comment: ["issue"],
  Reaction: ["issue"],
  Attachment: ["issue"],
  IssueSLA: [],
};
const maxBodyLength = 262_144;

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event_name = short(firstHeader(headers, "linear-event")) ?? stringAt(payload, ["type"], 200) ?? "";
  const action = stringAt(payload, ["action"], 200);
  const subject = subjectOf(event_name, payload);
  const isComment = event_name === "Comment";
  const body = isComment ? stringAt(payload, ["data", "body"], maxBodyLength) : null;
  const author = authorOf(payload);
  return {
    delivery_id: shortId(firstHeader(headers, "linear-delivery")),
    event_name,
    action,
    subject,
    title: stringAt(issueIn(event_name, payload), ["title"]),
    actor: author?.id ?? author?.name ?? null,
    text: eventText(event_name, action, payload),
    marked: body !== null && (hasInvisibleMarker(body) || hasMarker(body)),
    occurred_at: timestampAt(payload, "createdAt") ?? timestampAt(payload, "data", "updatedAt"),
    missing_field: event_name === "" ? "type" : lacking(event_name, payload, subject),
    change_key: changeKey(event_name, action, payload, subject),
    author,
    hook_id: stringAt(payload, ["webhookId"], 200),
    snapshot: action === "update",
    changes: changesOf(event_name, action, payload),
    comment: commentIn(event_name, payload),
    comment_text: isComment && action === "create" ? body : null,
    thread: isComment ? threadOf(payload) : null,
    incomplete: subject !== null && action !== "remove" && isIncomplete(event_name, payload),
    ...(event_name === "Issue" && { closes: isClosing(action, payload) }),
  };
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : sanitizeText(value));

function issueIn(event: string, payload: unknown): unknown {
  if (!Object.hasOwn(places, event)) return undefined;
  const data = valueAt(payload, "data") ?? valueAt(payload, "issueData");
  return valueAt(data, ...(places[event] ?? [])) ?? valueAt(data, "comment", "issue");
}

/** For Signalbox, a Linear team is a project. Its key is part of the identifier of each of its issues. */
function subjectOf(event: string, payload: unknown): Subject | null {
  const identifier = stringAt(issueIn(event, payload), ["identifier"], 30);
  if (identifier === null || !isIdentifier(identifier)) return null;
  return { project: identifier.split("-")[0] as string, issue: identifier };
}

/** A comment on a project update or a document, and a reaction to one, has no issue. */
function lacking(event: string, payload: unknown, subject: Subject | null): string | null {
  if (event === "Issue" && subject === null) return "data.identifier";
  const isOnIssue = stringAt(payload, ["data", "issueId"], 100) !== null;
  return event === "Comment" && isOnIssue && subject === null ? "data.issue.identifier" : null;
}

function commentIn(event: string, payload: unknown): string | null {
  if (event === "Comment") return stringAt(payload, ["data", "id"], 100);
  return event === "Reaction" ? stringAt(payload, ["data", "commentId"], 100) : null;
}

/** A reply in a thread that is synced with another service would be shown there, for example to customers. */
function threadOf(payload: unknown): string | null {
  const data = valueAt(payload, "data");
  const synced = valueAt(data, "syncedWith");
  const isOutside = stringAt(data, ["externalUserId"], 100) !== null || (synced !== undefined && synced !== null);
  return isOutside ? null : (stringAt(data, ["parentId"], 100) ?? stringAt(data, ["id"], 100));
}

/** The same for the webhook and the poll of one change. */
function changeKey(event: string, action: string | null, payload: unknown, subject: Subject | null): string | null {
  const data = valueAt(payload, "data");
  if (event === "Comment" && action === "create") {
    const id = stringAt(data, ["id"], 100);
    return id && `Comment/create/${id}`;
  }
  if (event !== "Issue" || subject === null) return null;
  if (action === "create") return `Issue/create/${subject.issue}`;
  const when = action === "update" ? timestampAt(data, "updatedAt") : null;
  return when && `Issue/update/${subject.issue}@${when}`;
}

/** The payload of an issue contains everything but the name of its author; that of a comment contains only the title of its issue. */
function isIncomplete(event: string, payload: unknown): boolean {
  if (event !== "Issue") return true;
  const data = valueAt(payload, "data");
  const known = [["title"], ["state", "name"], ["creator", "name"]].map((path) => stringAt(data, path));
  return known.includes(null) || !Array.isArray(valueAt(data, "labels"));
}

/**
 * Whether the event closes the issue: it is done, canceled, a duplicate, or deleted. Other changes of a closed issue close
 * nothing.
 */
function isClosing(action: string | null, payload: unknown): boolean {
  if (action === "remove") return true;
  if (action !== "update" || valueAt(payload, "updatedFrom", "stateId") === undefined) return false;
  return ["completed", "canceled", "duplicate"].includes(stringAt(payload, ["data", "state", "type"], 50) ?? "");
}
