import {
  firstHeader,
  type SourceEvent,
  type Subject,
  sanitizeText,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { isKey, projectOfKey } from "./address.ts";
import { isMarked } from "./bodies.ts";
import { changeKey } from "./change-key.ts";
import type { Convert } from "./conversions.ts";
import { eventText } from "./event-text.ts";

/** Parses any event. Never throws, whatever the payload is. */
export async function parse(convert: Convert, { headers, payload }: WebhookPayload): Promise<SourceEvent> {
  // The platform calls it jira:issue_created; event mappings call it gamma:issue_created.
  const event_name =
    stringAt(payload, ["webhookEvent"], 200)
      ?.trim()
      .replace(/^jira:/, "gamma:") ?? "";
  const delivery = firstHeader(headers, "x-gamma-webhook-identifier", "x-atlassian-webhook-identifier");
  return {
    delivery_id: delivery === null || delivery.length > 200 ? null : sanitizeText(delivery),
    event_name,
    action: null,
    subject: subjectOf(payload),
    actor: actorOf(event_name, payload),
    text: await eventText(convert, event_name, payload),
    marked: event_name.startsWith("comment_") && isMarked(valueAt(payload, "comment", "body")),
    occurred_at: occurredAt(event_name, payload),
    missing_field: event_name === "" ? "webhookEvent" : lacking(event_name, payload),
    change_key: changeKey(event_name, payload),
  };
}

function subjectOf(payload: unknown): Subject | null {
  const key = valueAt(payload, "issue", "key");
  if (!isKey(key)) return null;
  return { project: stringAt(payload, ["issue", "fields", "project", "key"], 100) ?? projectOfKey(key), issue: key };
}

/** Display names are not used: two people may have the same one. */
function actorOf(event: string, payload: unknown): string | null {
  const author = event === "comment_created" ? "author" : "updateAuthor";
  const candidates = [
    valueAt(payload, "user"),
    ...(event.startsWith("comment_") ? [valueAt(payload, "comment", author), valueAt(payload, "comment", "author")] : []),
  ];
  for (const user of candidates) {
    const id = stringAt(user, ["accountId"], 200) ?? stringAt(user, ["name"], 200) ?? stringAt(user, ["key"], 200);
    if (id !== null) return id;
  }
  if (event !== "gamma:issue_created") return null;
  return (
    stringAt(payload, ["issue", "fields", "creator", "accountId"], 200) ??
    stringAt(payload, ["issue", "fields", "creator", "name"], 200)
  );
}

function occurredAt(event: string, payload: unknown): string | null {
  const stamp = valueAt(payload, "timestamp");
  if (typeof stamp === "number" && stamp > 0 && stamp < 8.64e15) return new Date(stamp).toISOString();
  if (event.startsWith("comment_")) return timestampAt(payload, "comment", event === "comment_created" ? "created" : "updated");
  return timestampAt(payload, "issue", "fields", event === "gamma:issue_created" ? "created" : "updated");
}

function lacking(event: string, payload: unknown): string | null {
  if (!event.startsWith("gamma:issue_") && !event.startsWith("comment_")) return null;
  if (!isKey(valueAt(payload, "issue", "key"))) return "issue.key";
  const body = valueAt(payload, "comment", "body");
  if (event === "comment_created" && typeof body !== "string" && typeof body !== "object") return "comment.body";
  return null;
}
