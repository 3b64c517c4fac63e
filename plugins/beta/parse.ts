import {
  firstHeader,
  hasMarker,
  type SourceEvent,
  type Subject,
  sanitizeText,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { type Address, isNumber, isProject, issueOf } from "./address.ts";
import { changeKey } from "./change-key.ts";
import { eventText } from "./event-text.ts";

/** Hook names by `object_kind`, for webhooks without the event header. */
const kinds: ReadonlyMap<unknown, string> = new Map([
  ["issue", "Issue Hook"],
  ["merge_request", "Merge Request Hook"],
  ["note", "Note Hook"],
]);
/** Hooks about an issue or merge request itself. */
const tabled: ReadonlyMap<string, Address["kind"]> = new Map([
  ["Issue Hook", "issues"],
  ["Confidential Issue Hook", "issues"],
  ["Merge Request Hook", "merge_requests"],
]);

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event_name = short(firstHeader(headers, "x-beta-event", "x-gitlab-event")) ?? hookOf(payload);
  const action = stringAt(payload, ["object_attributes", "action"], 200);
  const note = valueAt(payload, "object_attributes", "note");
  return {
    delivery_id: short(firstHeader(headers, "x-beta-event-uuid", "x-gitlab-event-uuid")),
    event_name,
    action,
    subject: subjectOf(event_name, payload),
    actor: stringAt(payload, ["user", "username"], 200),
    text: eventText(event_name, payload),
    marked: typeof note === "string" && hasMarker(note),
    occurred_at: occurredAt(action, payload),
    missing_field: event_name === "" ? "header X-Beta-Event" : lacking(event_name, payload),
    change_key: changeKey(event_name, action, payload),
  };
}

function hookOf(payload: unknown): string {
  const kind = valueAt(payload, "object_kind");
  const hook = kinds.get(kind) ?? "";
  return hook !== "" && valueAt(payload, "event_type") === `confidential_${kind}` ? `Confidential ${hook}` : hook;
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : sanitizeText(value));

function projectOf(payload: unknown): string | null {
  const path = valueAt(payload, "project", "path_with_namespace");
  if (isProject(path)) return path;
  const id = valueAt(payload, "project", "id");
  return path === undefined && isNumber(id) ? String(id) : null;
}

function subjectOf(event: string, payload: unknown): Subject | null {
  const project = projectOf(payload);
  const own = tabled.get(event);
  const found: readonly (readonly [Address["kind"], unknown])[] = own
    ? [[own, valueAt(payload, "object_attributes", "iid")]]
    : [
        ["issues", valueAt(payload, "issue", "iid")],
        ["merge_requests", valueAt(payload, "merge_request", "iid")],
      ];
  const [kind, iid] = found.find(([, number]) => isNumber(number)) ?? [];
  return project !== null && kind && isNumber(iid) ? { project, issue: issueOf(kind, iid) } : null;
}

function occurredAt(action: string | null, payload: unknown): string | null {
  const item = valueAt(payload, "object_attributes");
  const member = action === "open" || action === "create" ? "created_at" : "updated_at";
  return timestampAt(item, member) ?? timestampAt(item, "updated_at") ?? timestampAt(item, "created_at");
}

function lacking(event: string, payload: unknown): string | null {
  const isNote = event === "Note Hook" || event === "Confidential Note Hook";
  if (!tabled.has(event) && !isNote) return null;
  if (!isNote && !isNumber(valueAt(payload, "object_attributes", "iid"))) return "object_attributes.iid";
  if (projectOf(payload) === null) return "project.path_with_namespace";
  if (isNote) return typeof valueAt(payload, "object_attributes", "note") === "string" ? null : "object_attributes.note";
  return stringAt(payload, ["object_attributes", "action"]) === null ? "object_attributes.action" : null;
}
