import {
  firstHeader,
  hasMarker,
  type SourceEvent,
  type Subject,
  sanitizeText,
  shortId,
  stringAt,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { changesOf, eventText } from "./event-text.ts";
import { authorOf } from "./people.ts";

/** Events about an issue or a pull request; https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks/. */
const subjectEvents = new Set([
  "issues",
  "issue_comment",
  "pull_request",
  "pull_request_comment",
  "pull_request_approved",
  "pull_request_rejected",
  "pull_request_review",
]);
/** Actions after which only the newest state counts. */
const snapshots = new Set([
  "edited",
  "label_updated",
  "label_cleared",
  "assigned",
  "unassigned",
  "milestoned",
  "demilestoned",
  "synchronized",
]);

/** Parses any event. Never throws, whatever the payload is. */
export function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const event = short(firstHeader(headers, "x-gitea-event", "x-forgejo-event", "x-gogs-event")) ?? "";
  const action = stringAt(payload, ["action"], 200);
  const item = valueAt(payload, "issue") ?? valueAt(payload, "pull_request");
  const subject = subjectOf(payload, item);
  const comment = valueAt(payload, "comment");
  const body = stringAt(comment, ["body"], 1_000_000) ?? stringAt(payload, ["review", "content"], 1_000_000);
  const author = authorOf(payload);
  const id = valueAt(comment, "id");
  return {
    delivery_id: shortId(firstHeader(headers, "x-gitea-delivery", "x-forgejo-delivery", "x-gogs-delivery")),
    event_name: event,
    action,
    subject,
    title: stringAt(item, ["title"]),
    actor: author?.name ?? null,
    text: eventText(event, payload),
    marked: body !== null && hasMarker(body),
    occurred_at: timestampAt(comment, "created_at") ?? timestampAt(item, "updated_at"),
    missing_field: lacking(event, payload, item),
    change_key: changeKey(event, action, payload, subject),
    author,
    snapshot: subjectEvents.has(event) && action !== null && snapshots.has(action),
    changes: changesOf(payload),
    comment: event === "issue_comment" && isNumber(id) ? String(id) : null,
    comment_text: event === "issue_comment" && action === "created" ? body : null,
    incomplete: subject !== null && [["title"], ["state"], ["html_url"], ["user", "login"]].some((path) => !stringAt(item, path)),
  };
}

/** Values over 200 characters are ignored. */
const short = (value: string | null): string | null => (value === null || value.length > 200 ? null : sanitizeText(value));
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

function subjectOf(payload: unknown, item: unknown): Subject | null {
  const project = stringAt(payload, ["repository", "full_name"], 200);
  const number = valueAt(item, "number");
  return project !== null && isNumber(number) ? { project, issue: String(number) } : null;
}

function lacking(event: string, payload: unknown, item: unknown): string | null {
  if (event === "") return "header X-Gitea-Event";
  if (!subjectEvents.has(event)) return null;
  if (stringAt(payload, ["repository", "full_name"], 200) === null) return "repository.full_name";
  const member = event.startsWith("pull_request") ? "pull_request" : "issue";
  if (item === undefined) return member;
  return isNumber(valueAt(item, "number")) ? null : `${member}.number`;
}

/** The same for the webhook and the poll of one change. */
function changeKey(event: string, action: string | null, payload: unknown, subject: Subject | null): string | null {
  if (subject === null) return null;
  const at = `${subject.project}#${subject.issue}`;
  const comment = valueAt(payload, "comment", "id");
  if (event === "issue_comment")
    return action === "created" && isNumber(comment) ? `issue_comment/created/${at}/${comment}` : null;
  if (event !== "issues" && event !== "pull_request") return null;
  if (action === "opened") return `${event}/opened/${at}`;
  const item = valueAt(payload, "issue") ?? valueAt(payload, "pull_request");
  const when = action === "closed" ? timestampAt(item, "closed_at") : null;
  return when && `${event}/closed/${at}@${when}`;
}
