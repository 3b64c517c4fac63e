import {
  firstHeader,
  type SourceEvent,
  type Subject,
  sanitizeText,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { anyProject, isIssueId, isKey, projectOfKey } from "./address.ts";
import { isMarked } from "./bodies.ts";
import { changeKey } from "./change-key.ts";
import type { Convert } from "./conversions.ts";
import { isIncomplete } from "./describe.ts";
import { eventName, hasComment, isComment, isIssue } from "./event-name.ts";
import { changesOf, eventText } from "./event-text.ts";
import { actorOf, authorOf } from "./people.ts";
import { isPrivate, restrictionOf } from "./visibility.ts";

/** Parses any event. Never throws, whatever the payload is. */
export async function parse(convert: Convert, { headers, payload }: WebhookPayload): Promise<SourceEvent> {
  const event_name = eventName(payload);
  const subject = subjectOf(payload);
  const sameAs = reportOf(event_name, payload);
  return {
    delivery_id: shortId(firstHeader(headers, "x-gamma-webhook-identifier", "x-atlassian-webhook-identifier")),
    event_name,
    action: null,
    subject,
    title: stringAt(payload, ["issue", "fields", "summary"]),
    actor: actorOf(event_name, payload),
    text: await eventText(convert, event_name, payload),
    marked: isMarked(valueAt(payload, "comment", "body")),
    occurred_at: occurredAt(event_name, payload),
    missing_field: event_name === "" ? "webhookEvent" : lacking(event_name, payload, subject),
    change_key: changeKey(event_name, payload),
    author: authorOf(event_name, payload),
    hook_id: hookOf(payload, sameAs !== null),
    same_as: sameAs,
    snapshot: event_name === "gamma:issue_updated" && !hasComment(payload),
    private: isPrivate(payload),
    changes: changesOf(event_name, payload),
    comment: idOf(payload, "comment", "id"),
    comment_text: event_name === "comment_created" ? beginningOf(valueAt(payload, "comment", "body")) : null,
    ...(isClosed(event_name, payload) && { closes: true }),
    thread: restrictionOf(payload),
    incomplete: subject !== null && event_name !== "gamma:issue_deleted" && isIncomplete(payload),
  };
}

/** Ids are text; some versions send numbers. */
function idOf(payload: unknown, ...path: readonly string[]): string | null {
  const id = valueAt(payload, ...path);
  return typeof id === "number" ? String(id) : stringAt(payload, path, 50);
}

/**
 * Server sends comments, and both Server and Cloud send work logs and links, with at most the id of the issue. The host looks
 * up its key when a task runs. A link belongs to the issue on which it was created.
 */
function subjectOf(payload: unknown): Subject | null {
  const key = valueAt(payload, "issue", "key");
  if (isKey(key))
    return { project: stringAt(payload, ["issue", "fields", "project", "key"], 100) ?? projectOfKey(key), issue: key };
  if (valueAt(payload, "issue") !== undefined) return null;
  const linked = idOf(payload, "issueLink", "sourceIssueId");
  if (linked !== null) return isIssueId(linked) ? { project: anyProject, issue: linked } : null;
  const self = stringAt(payload, ["comment", "self"], 2000) ?? stringAt(payload, ["worklog", "self"], 2000) ?? "";
  const id = idOf(payload, "worklog", "issueId") ?? /\/issue\/(\d{1,15})\/(?:comment|worklog)\/\d+$/.exec(self)?.[1];
  return id && isIssueId(id) ? { project: anyProject, issue: id } : null;
}

/**
 * The webhooks of an app that match the delivery; there can be several. Webhooks that people set up have no id in the payload.
 * One webhook delivers what Server reports under two names twice, which count as two hooks.
 */
function hookOf(payload: unknown, isReportedTwice: boolean): string | null {
  const matched = valueAt(payload, "matchedWebhookIds");
  const ids = Array.isArray(matched) ? matched.slice(0, 10).filter((id) => ["number", "string"].includes(typeof id)) : [];
  const names = [ids.join(",").slice(0, 200), isReportedTwice ? stringAt(payload, ["webhookEvent"], 200) : null];
  return (
    names
      .filter(Boolean)
      .map((name) => sanitizeText(name as string).trim())
      .join(" ") || null
  );
}

/** Server reports one comment as an event of its own and as an update of its issue, if both are selected. */
function reportOf(event: string, payload: unknown): string | null {
  const id = isComment(event) ? idOf(payload, "comment", "id") : null;
  if (id === null) return null;
  const when = timestampAt(payload, "comment", "updated") ?? timestampAt(payload, "comment", "created") ?? "";
  return `comment/${id}/${event}@${when}`;
}

function occurredAt(event: string, payload: unknown): string | null {
  const stamp = valueAt(payload, "timestamp");
  if (typeof stamp === "number" && stamp > 0 && stamp < 8.64e15) return new Date(stamp).toISOString();
  const when = event.endsWith("_created") ? "created" : "updated";
  if (isComment(event)) return timestampAt(payload, "comment", when);
  if (event.startsWith("worklog_")) return timestampAt(payload, "worklog", when);
  if (event.startsWith("attachment_")) return timestampAt(payload, "attachment", "created");
  return timestampAt(payload, "issue", "fields", when);
}

function lacking(event: string, payload: unknown, subject: Subject | null): string | null {
  if (!isIssue(event) && !isComment(event) && !/^(?:worklog|attachment)_/.test(event)) return null;
  if (subject === null) return "issue.key";
  const body = valueAt(payload, "comment", "body");
  if (event === "comment_created" && typeof body !== "string" && typeof body !== "object") return "comment.body";
  return null;
}

/** Longest beginning of a comment that is read, in characters. */
const maxBodyLength = 2_000;

/** The beginning of a comment as plain text: wiki markup unchanged, or the first paragraph of a document. */
function beginningOf(body: unknown): string | null {
  if (typeof body === "string") return sanitizeText(body.slice(0, maxBodyLength));
  const nodes = valueAt(body, "content", "0", "content");
  if (!Array.isArray(nodes)) return null;
  const parts = nodes.slice(0, 50).map((node) => valueAt(node, "text") ?? (valueAt(node, "type") === "hardBreak" ? "\n" : ""));
  return sanitizeText(parts.join("").slice(0, maxBodyLength));
}

/** Whether the issue was deleted, or moved to a status of the category "done". */
function isClosed(event: string, payload: unknown): boolean {
  if (event === "gamma:issue_deleted") return true;
  if (event !== "gamma:issue_updated") return false;
  const items = valueAt(payload, "changelog", "items");
  const isMoved = Array.isArray(items) && items.slice(0, 1000).some((item) => valueAt(item, "field") === "status");
  return isMoved && valueAt(payload, "issue", "fields", "status", "statusCategory", "key") === "done";
}
