import { at, carriesMarker, clean, headerOf, type SourceEvent, textAt, timeAt, type WebhookPayload } from "@signalbox/sdk";

/** Reads any webhook. It never throws: what is missing is named in `lacks`. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const delivery = headerOf(headers, "x-delivery");
  const project = textAt(payload, ["project"], 200);
  const issue = at(payload, "issue", "number");
  const body = textAt(payload, ["comment", "body"], 1_000_000);
  const isNumber = Number.isSafeInteger(issue);
  return {
    delivery_id: delivery === null || delivery.length > 200 ? null : clean(delivery),
    event_name: textAt(payload, ["event"], 200) ?? "",
    action: textAt(payload, ["action"], 200),
    subject: project !== null && isNumber ? { project, issue: String(issue) } : null,
    actor: textAt(payload, ["sender", "login"], 200),
    text: [textAt(payload, ["issue", "title"]), body ?? textAt(payload, ["issue", "body"], 1_000_000)]
      .filter(Boolean)
      .join("\n\n"),
    marked: carriesMarker(body),
    occurred_at: timeAt(payload, "at"),
    lacks: textAt(payload, ["event"], 200) === null ? "event" : project === null ? "project" : isNumber ? null : "issue.number",
  };
}
