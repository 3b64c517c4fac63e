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
import { isNumber } from "./address.ts";
import { actorOf, authorOf } from "./author.ts";
import { changeKey } from "./change-key.ts";
import { changesOf, isSnapshot } from "./changes.ts";
import { isIncomplete } from "./describe.ts";
import { eventText } from "./event-text.ts";
import { groupIn, isEpic, isPrivate, projectIn, subjectOf, threadOf, titleOf } from "./place.ts";

/** Hook names by `object_kind`, for webhooks without the event header. */
const kinds: ReadonlyMap<unknown, string> = new Map([
  ["issue", "Issue Hook"],
  ["work_item", "Issue Hook"],
  ["merge_request", "Merge Request Hook"],
  ["note", "Note Hook"],
]);
/** Hooks about an issue or merge request itself. */
const subjectEvents = new Set(["Issue Hook", "Confidential Issue Hook", "Merge Request Hook"]);

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event_name = short(firstHeader(headers, "x-beta-event", "x-gitlab-event")) ?? hookOf(payload);
  const isSystem = event_name === "System Hook";
  const action = isSystem ? systemKind(payload) : stringAt(payload, ["object_attributes", "action"], 200);
  const note = valueAt(payload, "object_attributes", "note");
  return {
    // The platform retries a delivery with a new event id, but with the same idempotency key.
    delivery_id: shortId(firstHeader(headers, "x-beta-event-uuid", "idempotency-key", "x-gitlab-event-uuid")),
    event_name,
    action,
    subject: subjectOf(event_name, payload),
    title: titleOf(event_name, payload),
    actor: actorOf(event_name, payload),
    text: eventText(event_name, action, payload),
    marked: typeof note === "string" && hasMarker(note),
    occurred_at: occurredAt(action, payload),
    missing_field: event_name === "" ? "header X-Beta-Event" : lacking(event_name, payload),
    ignored: isSystem
      ? `system hooks are not supported (${action ?? "no event"}): add a webhook to the project or its group`
      : isSystemNote(event_name, payload)
        ? "a system note: GitLab wrote it about a change, not a person"
        : null,
    change_key: changeKey(event_name, action, payload),
    author: authorOf(event_name, payload),
    hook_id: short(firstHeader(headers, "x-beta-webhook-uuid", "x-gitlab-webhook-uuid")),
    snapshot: isSnapshot(event_name, action),
    private: isPrivate(event_name, payload),
    changes: changesOf(event_name, action, payload),
    comment: commentIdOf(event_name, payload),
    thread: threadOf(event_name, payload),
    incomplete: isIncomplete(event_name, payload),
    comment_text: action !== "update" && typeof note === "string" ? sanitizeText(note) : null,
    // Whatever the mappings say of the event.
    ...(subjectEvents.has(event_name) && (action === "close" || action === "merge") && { closes: true }),
  };
}

const isSystemNote = (event: string, payload: unknown): boolean =>
  event.endsWith("Note Hook") && valueAt(payload, "object_attributes", "system") === true;

/** What a hook of the whole server reports. */
const systemKind = (payload: unknown): string | null =>
  stringAt(payload, ["event_name"], 200) ?? stringAt(payload, ["object_kind"], 200);

function commentIdOf(event: string, payload: unknown): string | null {
  const id = valueAt(payload, "object_attributes", "id");
  return event.endsWith("Note Hook") && isNumber(id) ? String(id) : null;
}

function hookOf(payload: unknown): string {
  const kind = valueAt(payload, "object_kind");
  if (kind === undefined && systemKind(payload) !== null) return "System Hook";
  const hook = kinds.get(kind) ?? "";
  return hook !== "" && valueAt(payload, "event_type") === `confidential_${kind}` ? `Confidential ${hook}` : hook;
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : sanitizeText(value));

function occurredAt(action: string | null, payload: unknown): string | null {
  const item = valueAt(payload, "object_attributes");
  const member = action === "open" || action === "create" ? "created_at" : "updated_at";
  return timestampAt(item, member) ?? timestampAt(item, "updated_at") ?? timestampAt(item, "created_at");
}

function lacking(event: string, payload: unknown): string | null {
  const isNote = event === "Note Hook" || event === "Confidential Note Hook";
  if (!subjectEvents.has(event) && !isNote) return null;
  const item = valueAt(payload, "object_attributes");
  if (!isNote && !isNumber(valueAt(item, "iid"))) return "object_attributes.iid";
  const isOfGroup = [item, valueAt(payload, "issue")].some(isEpic) || valueAt(payload, "epic") !== undefined;
  if (isOfGroup && subjectOf(event, payload) === null) return groupIn(payload, item) === null ? "group.full_path" : "iid";
  if (!isOfGroup && projectIn(payload) === null) return "project.path_with_namespace";
  if (isNote) return typeof valueAt(item, "note") === "string" ? null : "object_attributes.note";
  return stringAt(item, ["action"]) === null ? "object_attributes.action" : null;
}
