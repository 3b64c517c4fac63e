import {
  firstHeader,
  hasMarker,
  type SourceEvent,
  sanitizeText,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";

/** Events about an issue or a pull request; https://docs.gitea.com/usage/webhooks. */
const tabled = ["issues", "issue_comment", "pull_request", "pull_request_comment"];
const longest = 1_000_000;

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event = short(firstHeader(headers, "x-gitea-event", "x-forgejo-event", "x-gogs-event")) ?? "";
  const item = valueAt(payload, "issue") ?? valueAt(payload, "pull_request");
  const number = valueAt(item, "number");
  const project = stringAt(payload, ["repository", "full_name"], 200);
  const comment = valueAt(payload, "comment", "body");
  return {
    delivery_id: short(firstHeader(headers, "x-gitea-delivery", "x-forgejo-delivery", "x-gogs-delivery")),
    event_name: event,
    action: stringAt(payload, ["action"], 200),
    subject: project !== null && isNumber(number) ? { project, issue: String(number) } : null,
    actor: stringAt(payload, ["sender", "login"], 200),
    text: textOf(event, payload, item),
    marked: typeof comment === "string" && hasMarker(comment),
    occurred_at: timestampAt(payload, "comment", "created_at") ?? timestampAt(item, "updated_at"),
    missing_field: lacking(event, { project, number, item }),
  };
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : sanitizeText(value));
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

function lacking(
  event: string,
  { project, number, item }: { project: string | null; number: unknown; item: unknown },
): string | null {
  if (event === "") return "header X-Gitea-Event";
  if (!tabled.includes(event)) return null;
  if (project === null) return "repository.full_name";
  if (item === undefined) return event === "pull_request" ? "pull_request" : "issue";
  return isNumber(number) ? null : `${event === "pull_request" ? "pull_request" : "issue"}.number`;
}

/** The text for the agent. */
function textOf(event: string, payload: unknown, item: unknown): string {
  const comment = stringAt(payload, ["comment", "body"], longest);
  const parts = [
    `# ${stringAt(item, ["title"]) ?? event}`,
    stringAt(item, ["body"], longest),
    comment === null ? null : `## Comment by ${stringAt(payload, ["sender", "login"], 200) ?? "unknown"}\n\n${comment}`,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}
