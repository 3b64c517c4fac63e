import {
  firstHeader,
  hasInvisibleMarker,
  type SourceEvent,
  type Subject,
  sanitizeText,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { anyProject, isId } from "./address.ts";
import { changesOf } from "./changes.ts";
import type { Convert } from "./conversions.ts";
import { commentOf, eventText, issueIn } from "./event-text.ts";
import { commentIn, eventName, idAt, isActivity, isIssue, isNone } from "./names.ts";
import { actorOf, authorOf } from "./people.ts";
import { externalSource } from "./shapes.ts";

/** Parses any event. Never throws, whatever the payload is. */
export async function parse(convert: Convert, { headers, payload }: WebhookPayload): Promise<SourceEvent> {
  const event_name = sanitizeText(eventName(headers, payload));
  const subject = subjectOf(event_name, payload);
  const comment = isActivity(event_name) ? commentIn(payload) : null;
  const commentId = stringAt(comment, ["id"], 100)?.trim() ?? null;
  return {
    delivery_id: deliveryOf(headers, payload),
    event_name,
    action: null,
    subject,
    title: stringAt(issueIn(event_name, payload), ["name"]),
    actor: actorOf(event_name, payload),
    text: await eventText(convert, event_name, payload),
    marked: comment !== null && isOurs(comment),
    occurred_at: occurredAt(event_name, payload),
    missing_field: event_name === "" ? "event" : lacking(event_name, subject),
    change_key: changeKey(event_name, payload),
    author: authorOf(event_name, payload),
    hook_id: stringAt(payload, ["webhook_id"], 100)?.trim() ?? null,
    snapshot: event_name === "issue.updated",
    private: valueAt(comment, "access") === "INTERNAL",
    changes: changesOf(event_name, payload),
    comment: commentId,
    // Webhooks contain no URL of the issue, and ids instead of most names.
    incomplete: subject !== null && event_name !== "issue.deleted",
    comment_text: comment !== null && event_name.endsWith(".created") ? plainBeginningOf(commentOf(comment)) : null,
    ...((event_name === "issue.deleted" || isFinished(event_name, payload)) && { closes: true }),
  };
}

/** Each attempt of a delivery has a new delivery id. The second envelope also has an event id, which stays the same. */
function deliveryOf(headers: Readonly<Record<string, string>>, payload: unknown): string | null {
  const named = firstHeader(headers, "x-delta-delivery");
  const eventId = stringAt(payload, ["event_id"], 10_000);
  const event = eventId !== null && eventId.length > 200 ? eventId : idAt(payload, "event_id");
  return shortId(named ?? event ?? firstHeader(headers, "x-plane-delivery"));
}

/**
 * Whether an update moved the issue to a state in which work on it has ended. Webhooks of the second envelope contain no group of the
 * state, but a time of completion. If there is neither, this is unknown and `false`.
 */
function isFinished(event: string, payload: unknown): boolean {
  const group = valueAt(payload, "data", "state", "group");
  const completedAt = stringAt(payload, ["data", "completed_at"], 100);
  const isEnded =
    group === undefined ? completedAt !== null && !isNone(completedAt) : group === "completed" || group === "cancelled";
  if (event !== "issue.updated" || !isEnded) return false;
  const field = valueAt(payload, "activity", "field");
  const before = [valueAt(payload, "data", "changes"), valueAt(payload, "previous_attributes")];
  return ["state", "state_id"].some((name) => field === name || before.some((one) => valueAt(one, name) !== undefined));
}

function issueId(event: string, payload: unknown): string | null {
  const data = valueAt(payload, "data");
  if (isActivity(event))
    return idAt(commentIn(payload), "issue_id", "issue") ?? idAt(data, "issue_id", "issue") ?? entityOf(payload);
  if (!isIssue(event)) return idAt(data, "issue_id", "issue");
  return idAt(data, "id") ?? entityOf(payload);
}

/** The issue of the second envelope, which is the only place that names a deleted issue. */
const entityOf = (payload: unknown): string | null =>
  valueAt(payload, "entity_type") === "issue" ? idAt(payload, "entity_id") : null;

function subjectOf(event: string, payload: unknown): Subject | null {
  if (!/^(?:issue|(?:cycle|module)_issue\b)/.test(event)) return null;
  const issue = issueId(event, payload);
  if (!isId(issue)) return null;
  const places = [valueAt(payload, "data"), commentIn(payload), valueAt(payload, "previous_attributes")];
  const project = places.map((place) => idAt(place, "project_id", "project", "project_detail")).find(isId);
  return { project: project ?? anyProject, issue };
}

function lacking(event: string, subject: Subject | null): string | null {
  if (!/^issue\.|^issue_comment\./.test(event) || subject !== null) return null;
  return isIssue(event) ? "data.id" : "data.issue_id";
}

function occurredAt(event: string, payload: unknown): string | null {
  const about = isActivity(event) ? commentIn(payload) : valueAt(payload, "data");
  const when = event.endsWith(".created") ? "created_at" : event.endsWith(".deleted") ? "deleted_at" : "updated_at";
  return timestampAt(about, when) ?? timestampAt(about, "updated_at");
}

/** Recognised by its external source, or by the marker in its text: not every webhook contains the external id. */
const isOurs = (comment: unknown): boolean =>
  valueAt(comment, "external_source") === externalSource || hasInvisibleMarker(beginningOf(commentOf(comment)));

/** The text after the leading tags. A quotation is not skipped: a quoted marker does not count. */
const beginningOf = (html: string): string => html.slice(0, 2000).replace(/^(?:\s*<(?!blockquote)[a-z][^>]*>)*\s*/i, "");

/** The first 2,000 characters of a comment without its tags. */
const plainBeginningOf = (html: string): string =>
  sanitizeText(html.slice(0, 2000))
    .replace(/<(?:\/p|br)[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, "");

/** Names a change. The webhook and the poll of one change have the same key. Times have a resolution of a second. */
function changeKey(event: string, payload: unknown): string | null {
  const issue = issueId(event, payload);
  if (issue === null) return null;
  if (event === "issue.created") return `issue/${issue}/created`;
  if (event === "issue.activity.created") {
    const id = stringAt(commentIn(payload), ["id"], 100);
    return id && id !== issue ? `issue/${issue}/comment/${id}` : null;
  }
  const when = event === "issue.updated" ? timestampAt(valueAt(payload, "data"), "updated_at") : null;
  return when && `issue/${issue}/updated@${when.slice(0, 19)}`;
}
