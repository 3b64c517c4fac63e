import { at, carriesMarker, clean, headerOf, type SourceEvent, textAt, timeAt, type WebhookPayload } from "@signalbox/sdk";

/** Events about an issue or a pull request; https://docs.gitea.com/usage/webhooks. */
const tabled = ["issues", "issue_comment", "pull_request", "pull_request_comment"];
const longest = 1_000_000;

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event = short(headerOf(headers, "x-gitea-event", "x-forgejo-event", "x-gogs-event")) ?? "";
  const item = at(payload, "issue") ?? at(payload, "pull_request");
  const number = at(item, "number");
  const project = textAt(payload, ["repository", "full_name"], 200);
  const comment = at(payload, "comment", "body");
  return {
    delivery_id: short(headerOf(headers, "x-gitea-delivery", "x-forgejo-delivery", "x-gogs-delivery")),
    event_name: event,
    action: textAt(payload, ["action"], 200),
    subject: project !== null && isNumber(number) ? { project, issue: String(number) } : null,
    actor: textAt(payload, ["sender", "login"], 200),
    text: textOf(event, payload, item),
    marked: typeof comment === "string" && carriesMarker(comment),
    occurred_at: timeAt(payload, "comment", "created_at") ?? timeAt(item, "updated_at"),
    lacks: lacking(event, { project, number, item }),
  };
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : clean(value));
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
  const comment = textAt(payload, ["comment", "body"], longest);
  const parts = [
    `# ${textAt(item, ["title"]) ?? event}`,
    textAt(item, ["body"], longest),
    comment === null ? null : `## Comment by ${textAt(payload, ["sender", "login"], 200) ?? "unknown"}\n\n${comment}`,
  ];
  return parts.filter((part) => part !== null).join("\n\n");
}
