import {
  firstHeader,
  hasInvisibleMarker,
  type SourceEvent,
  type Subject,
  sanitizeText,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { anyProject, isId } from "./address.ts";
import { externalSource } from "./comments.ts";
import type { Convert } from "./conversions.ts";
import { commentOf, eventText } from "./event-text.ts";
import { eventName, idAt, isActivity } from "./names.ts";

/** Parses any event. Never throws, whatever the payload is. */
export async function parse(convert: Convert, { headers, payload }: WebhookPayload): Promise<SourceEvent> {
  const event_name = sanitizeText(eventName(headers, payload));
  const data = valueAt(payload, "data");
  const delivery = firstHeader(headers, "x-delta-delivery", "x-plane-delivery");
  const subject = subjectOf(event_name, data);
  return {
    delivery_id: delivery === null || delivery.length > 200 ? null : sanitizeText(delivery),
    event_name,
    action: null,
    subject,
    actor: actorOf(event_name, payload),
    text: await eventText(convert, event_name, payload),
    marked: isActivity(event_name) && isOurs(data),
    occurred_at: timestampAt(data, event_name.endsWith(".created") ? "created_at" : "updated_at"),
    missing_field: event_name === "" ? "event" : lacking(event_name, subject),
    change_key: changeKey(event_name, data),
  };
}

const issueId = (event: string, data: unknown): string | null =>
  isActivity(event) ? idAt(data, "issue_id", "issue") : idAt(data, "id");

function subjectOf(event: string, data: unknown): Subject | null {
  if (!event.startsWith("issue")) return null;
  const issue = issueId(event, data);
  if (!isId(issue)) return null;
  const project = idAt(data, "project_id", "project", "project_detail");
  return { project: isId(project) ? project : anyProject, issue };
}

function lacking(event: string, subject: Subject | null): string | null {
  if (!/^issue\.|^issue_comment\./.test(event)) return null;
  return subject === null ? (isActivity(event) ? "data.issue_id" : "data.id") : null;
}

function actorOf(event: string, payload: unknown): string | null {
  const data = valueAt(payload, "data");
  const actor = idAt(valueAt(payload, "activity"), "actor") ?? idAt(payload, "actor") ?? idAt(data, "actor");
  return actor ?? (event.endsWith(".created") ? idAt(data, "created_by") : idAt(data, "updated_by"));
}

/** Recognised by its external source, or by the marker in its text: not every webhook contains the external id. */
const isOurs = (data: unknown): boolean =>
  valueAt(data, "external_source") === externalSource || hasInvisibleMarker(beginningOf(commentOf(data)));

/** The text after the leading tags. A quotation is not skipped: a quoted marker does not count. */
const beginningOf = (html: string): string => html.slice(0, 2000).replace(/^(?:\s*<(?!blockquote)[a-z][^>]*>)*\s*/i, "");

/** Names a change. The webhook and the poll of one change have the same key. Times have a resolution of a second. */
function changeKey(event: string, data: unknown): string | null {
  const issue = issueId(event, data);
  if (issue === null) return null;
  if (event === "issue.created") return `issue/${issue}/created`;
  if (event === "issue.activity.created") {
    const id = stringAt(data, ["id"], 100);
    return id && `issue/${issue}/comment/${id}`;
  }
  const when = event === "issue.updated" ? timestampAt(data, "updated_at") : null;
  return when && `issue/${issue}/updated@${when.slice(0, 19)}`;
}
