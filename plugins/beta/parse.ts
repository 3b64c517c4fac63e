import {
  at,
  carriesMarker,
  clean,
  headerOf,
  type SourceEvent,
  type Subject,
  textAt,
  timeAt,
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
  const event_name = short(headerOf(headers, "x-beta-event", "x-gitlab-event")) ?? hookOf(payload);
  const action = textAt(payload, ["object_attributes", "action"], 200);
  const note = at(payload, "object_attributes", "note");
  return {
    delivery_id: short(headerOf(headers, "x-beta-event-uuid", "x-gitlab-event-uuid")),
    event_name,
    action,
    subject: subjectOf(event_name, payload),
    actor: textAt(payload, ["user", "username"], 200),
    text: eventText(event_name, payload),
    marked: typeof note === "string" && carriesMarker(note),
    occurred_at: occurredAt(action, payload),
    lacks: event_name === "" ? "header X-Beta-Event" : lacking(event_name, payload),
    change_key: changeKey(event_name, action, payload),
  };
}

function hookOf(payload: unknown): string {
  const kind = at(payload, "object_kind");
  const hook = kinds.get(kind) ?? "";
  return hook !== "" && at(payload, "event_type") === `confidential_${kind}` ? `Confidential ${hook}` : hook;
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : clean(value));

function projectOf(payload: unknown): string | null {
  const path = at(payload, "project", "path_with_namespace");
  if (isProject(path)) return path;
  const id = at(payload, "project", "id");
  return path === undefined && isNumber(id) ? String(id) : null;
}

function subjectOf(event: string, payload: unknown): Subject | null {
  const project = projectOf(payload);
  const own = tabled.get(event);
  const found: readonly (readonly [Address["kind"], unknown])[] = own
    ? [[own, at(payload, "object_attributes", "iid")]]
    : [
        ["issues", at(payload, "issue", "iid")],
        ["merge_requests", at(payload, "merge_request", "iid")],
      ];
  const [kind, iid] = found.find(([, number]) => isNumber(number)) ?? [];
  return project !== null && kind && isNumber(iid) ? { project, issue: issueOf(kind, iid) } : null;
}

function occurredAt(action: string | null, payload: unknown): string | null {
  const item = at(payload, "object_attributes");
  const member = action === "open" || action === "create" ? "created_at" : "updated_at";
  return timeAt(item, member) ?? timeAt(item, "updated_at") ?? timeAt(item, "created_at");
}

function lacking(event: string, payload: unknown): string | null {
  const isNote = event === "Note Hook" || event === "Confidential Note Hook";
  if (!tabled.has(event) && !isNote) return null;
  if (!isNote && !isNumber(at(payload, "object_attributes", "iid"))) return "object_attributes.iid";
  if (projectOf(payload) === null) return "project.path_with_namespace";
  if (isNote) return typeof at(payload, "object_attributes", "note") === "string" ? null : "object_attributes.note";
  return textAt(payload, ["object_attributes", "action"]) === null ? "object_attributes.action" : null;
}
