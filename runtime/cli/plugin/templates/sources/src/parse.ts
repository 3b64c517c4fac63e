import {
  firstHeader,
  hasMarker,
  plainLine,
  type SourceEvent,
  sections,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";

/** Parses any webhook and never throws. `missing_field` names a required member that is missing. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const project = stringAt(payload, ["project"], 200);
  const issue = valueAt(payload, "issue", "number");
  const body = stringAt(payload, ["comment", "body"], 1_000_000);
  const isNumber = Number.isSafeInteger(issue);
  return {
    delivery_id: shortId(firstHeader(headers, "x-delivery")),
    event_name: stringAt(payload, ["event"], 200) ?? "",
    action: stringAt(payload, ["action"], 200),
    subject: project !== null && isNumber ? { project, issue: String(issue) } : null,
    title: stringAt(payload, ["issue", "title"]),
    actor: stringAt(payload, ["sender", "login"], 200),
    text: sections(
      plainLine(stringAt(payload, ["issue", "title"]) ?? ""),
      body ?? stringAt(payload, ["issue", "body"], 1_000_000) ?? "",
    ),
    marked: hasMarker(body),
    occurred_at: timestampAt(payload, "at"),
    missing_field:
      stringAt(payload, ["event"], 200) === null ? "event" : project === null ? "project" : isNumber ? null : "issue.number",
  };
}
