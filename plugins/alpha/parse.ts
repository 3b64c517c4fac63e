import {
  firstHeader,
  hasMarker,
  type SourceEvent,
  sanitizeText,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { isNumber, isProject } from "./address.ts";
import { actorOf, authorOf } from "./author.ts";
import { changeKey } from "./change-key.ts";
import { changesOf, isSnapshot } from "./changes.ts";
import { isIncomplete } from "./describe.ts";
import { eventText } from "./event-text.ts";
import { commentIdOf, subjectOf, threadOf, titleOf } from "./place.ts";

/** Where each mapped event has its issue number. */
const subjectKinds: Readonly<Record<string, "issue" | "pull_request" | "discussion">> = {
  issues: "issue",
  issue_comment: "issue",
  pull_request: "pull_request",
  pull_request_review: "pull_request",
  pull_request_review_comment: "pull_request",
  discussion: "discussion",
  discussion_comment: "discussion",
};
const comments = new Set(["issue_comment", "pull_request_review_comment", "commit_comment", "discussion_comment"]);

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event_name = header(headers, "x-alpha-event", "x-github-event") ?? "";
  const action = stringAt(payload, ["action"], 200);
  const subject = subjectOf(event_name, payload);
  return {
    delivery_id: shortId(firstHeader(headers, "x-alpha-delivery", "x-github-delivery")),
    event_name,
    action,
    subject,
    title: titleOf(event_name, payload),
    actor: actorOf(payload),
    text: eventText(event_name, action, payload),
    marked: hasMarker(markdownOf(payload)),
    occurred_at: occurredAt(event_name, action, payload),
    missing_field: event_name === "" ? "header X-Alpha-Event" : lacking(event_name, payload),
    change_key: changeKey(event_name, action, payload),
    author: authorOf(payload),
    hook_id: header(headers, "x-alpha-hook-id", "x-github-hook-id"),
    snapshot: isSnapshot(event_name, action),
    private: false,
    changes: changesOf(event_name, action, payload),
    comment: commentIdOf(event_name, payload),
    thread: threadOf(event_name, payload),
    incomplete: subject !== null && isIncomplete(payload),
    comment_text: event_name === "issue_comment" && action === "created" ? stringAt(payload, ["comment", "body"], 65_536) : null,
    ...(isClosed(event_name, action) && { closes: true }),
  };
}

/** Whether the event closes or deletes its subject, whatever the mappings do with it. */
const isClosed = (event: string, action: string | null): boolean =>
  (action === "closed" && Object.hasOwn(subjectKinds, event)) ||
  (action === "deleted" && (event === "issues" || event === "discussion"));

/** The first header that is set; our own name comes before the platform's. Values over 200 characters are ignored. */
function header(headers: Readonly<Record<string, string>>, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = valueAt(headers, name);
    const text = typeof value === "string" ? sanitizeText(value).trim() : "";
    if (text !== "") return text.length <= 200 ? text : null;
  }
  return null;
}

function markdownOf(payload: unknown): string | null {
  const body = valueAt(payload, "comment", "body") ?? valueAt(payload, "review", "body");
  return typeof body === "string" ? body : null;
}

function occurredAt(event: string, action: string | null, payload: unknown): string | null {
  if (comments.has(event)) return timestampAt(payload, "comment", action === "edited" ? "updated_at" : "created_at");
  if (event === "pull_request_review") return timestampAt(payload, "review", "submitted_at");
  if (event === "deployment_status") return timestampAt(payload, "deployment_status", "created_at");
  const item = valueAt(payload, event === "pull_request" || event === "discussion" ? event : "issue");
  const member = action === "opened" ? "created_at" : action === "closed" ? "closed_at" : "updated_at";
  return timestampAt(item, member) ?? timestampAt(item, "updated_at");
}

function lacking(event: string, payload: unknown): string | null {
  if (event === "commit_comment" && subjectOf(event, payload) === null) return "comment.commit_id";
  const item = Object.hasOwn(subjectKinds, event) ? subjectKinds[event] : undefined;
  if (!item) return null;
  if (!isNumber(valueAt(payload, item, "number"))) return `${item}.number`;
  if (!isProject(valueAt(payload, "repository", "full_name"))) return "repository.full_name";
  if (comments.has(event) && typeof valueAt(payload, "comment", "body") !== "string") return "comment.body";
  return stringAt(payload, ["action"]) === null ? "action" : null;
}
