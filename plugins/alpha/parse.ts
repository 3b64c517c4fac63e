import {
  hasMarker,
  hasMember,
  type SourceEvent,
  type Subject,
  sanitizeText,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { isNumber, isProject } from "./address.ts";
import { changeKey } from "./change-key.ts";
import { eventText } from "./event-text.ts";

/** Where each mapped event has its issue number. */
const tabled: Readonly<Record<string, "issue" | "pull_request">> = {
  issues: "issue",
  issue_comment: "issue",
  pull_request: "pull_request",
};

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event_name = header(headers, "x-alpha-event", "x-github-event") ?? "";
  const action = stringAt(payload, ["action"], 200);
  return {
    delivery_id: header(headers, "x-alpha-delivery", "x-github-delivery"),
    event_name,
    action,
    subject: subjectOf(payload),
    actor: actorOf(payload),
    text: eventText(event_name, payload),
    marked: hasMarker(markdownOf(payload)),
    occurred_at: occurredAt(event_name, action, payload),
    missing_field: event_name === "" ? "header X-Alpha-Event" : lacking(event_name, payload),
    change_key: changeKey(event_name, action, payload),
  };
}

/** The first header that is set; our own name comes before the platform's. Values over 200 characters are ignored. */
function header(headers: Readonly<Record<string, string>>, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = valueAt(headers, name);
    const text = typeof value === "string" ? sanitizeText(value).trim() : "";
    if (text !== "") return text.length <= 200 ? text : null;
  }
  return null;
}

function subjectOf(payload: unknown): Subject | null {
  const project = valueAt(payload, "repository", "full_name");
  const number = [valueAt(payload, "issue", "number"), valueAt(payload, "pull_request", "number")].find(isNumber);
  return number !== undefined && isProject(project) ? { project, issue: String(number) } : null;
}

/** A polled event has `sender: null` if its actor is unknown. The author of an issue is not the actor of every event on it. */
function actorOf(payload: unknown): string | null {
  const sender = stringAt(payload, ["sender", "login"], 200);
  if (sender !== null || valueAt(payload, "sender") === null) return sender;
  const wrote = ["comment", "review", "issue", "pull_request"].find((name) => hasMember(payload, name));
  return wrote === undefined ? null : stringAt(payload, [wrote, "user", "login"], 200);
}

function markdownOf(payload: unknown): string | null {
  const body = valueAt(payload, "comment", "body") ?? valueAt(payload, "review", "body");
  return typeof body === "string" ? body : null;
}

function occurredAt(event: string, action: string | null, payload: unknown): string | null {
  if (event === "issue_comment") return timestampAt(payload, "comment", action === "edited" ? "updated_at" : "created_at");
  if (event === "pull_request_review") return timestampAt(payload, "review", "submitted_at");
  if (event === "deployment_status") return timestampAt(payload, "deployment_status", "created_at");
  const item = valueAt(payload, event === "pull_request" ? "pull_request" : "issue");
  const member = action === "opened" ? "created_at" : action === "closed" ? "closed_at" : "updated_at";
  return timestampAt(item, member) ?? timestampAt(item, "updated_at");
}

function lacking(event: string, payload: unknown): string | null {
  const item = Object.hasOwn(tabled, event) ? tabled[event] : undefined;
  if (!item) return null;
  if (!isNumber(valueAt(payload, item, "number"))) return `${item}.number`;
  if (!isProject(valueAt(payload, "repository", "full_name"))) return "repository.full_name";
  if (event === "issue_comment" && typeof valueAt(payload, "comment", "body") !== "string") return "comment.body";
  return stringAt(payload, ["action"]) === null ? "action" : null;
}
