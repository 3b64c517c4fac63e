import { type EventText, factList, plainLine, sections, stringAt, timestampAt, valueAt } from "@signalbox/sdk";
import { markdownOf } from "./bodies.ts";
import type { Convert } from "./conversions.ts";
import { linkOf } from "./describe.ts";
import { hasComment, isComment, isIssue } from "./event-name.ts";
import { otherText } from "./other-text.ts";

/** The text for the agent: Markdown with a heading per part; `""` for a payload without the name of its event. */
export async function eventText(convert: Convert, event: string, payload: unknown): Promise<EventText> {
  const fields = valueAt(payload, "issue", "fields");
  const top = [heading(payload), facts(fields, linkOf(payload))];
  if (event.startsWith("worklog_")) return sections(...top, await worklogText(convert, event, payload));
  if (event.startsWith("attachment_")) return sections(...top, attachmentText(event, payload));
  if (!isIssue(event) && !isComment(event))
    return sections(...(valueAt(payload, "issue") === undefined ? [] : top), otherText(event, payload));
  const [description, commented] = await Promise.all([
    markdownOf(convert, valueAt(fields, "description")),
    hasComment(payload) ? commentText(convert, event, payload) : "",
  ]);
  const changes = listedChanges(event, payload);
  if (isComment(event)) {
    // Server does not say which comment was deleted.
    const deletionText = commented === "" && changes !== "" ? `## Changes\n\n${changes}` : "";
    return sections(...top, deletionText, commented, description && `## Description\n\n${description}`);
  }
  if (commented === "") return sections(...top, changes && `## Changes\n\n${changes}`, description);
  const descriptionText = description && `## Description\n\n${description}`;
  return sections(...top, changes && `## Changes\n\n${changes}`, commented, descriptionText);
}

const actionTexts: Readonly<Record<string, string>> = { created: "", updated: ", edited", deleted: ", deleted" };
const actionText = (event: string): string => actionTexts[event.split("_").at(-1) ?? ""] ?? "";

async function commentText(convert: Convert, event: string, payload: unknown): Promise<EventText> {
  const comment = valueAt(payload, "comment");
  const author = stringAt(comment, ["author", "displayName"], 200);
  const action = isComment(event) ? actionText(event) : "";
  return sections(
    `## Comment${author ? ` by ${plainLine(author)}` : ""}${action}`,
    await markdownOf(convert, valueAt(comment, "body")),
  );
}

async function worklogText(convert: Convert, event: string, payload: unknown): Promise<EventText> {
  const worklog = valueAt(payload, "worklog");
  const author = stringAt(worklog, ["author", "displayName"], 200);
  const spent = stringAt(worklog, ["timeSpent"], 100);
  const times = factList([
    ["Time spent", spent],
    ["Started", timestampAt(worklog, "started")],
  ]);
  return sections(
    `## Work log${author ? ` by ${plainLine(author)}` : ""}${actionText(event)}`,
    times,
    await markdownOf(convert, valueAt(worklog, "comment")),
  );
}

function attachmentText(event: string, payload: unknown): EventText {
  const attachment = valueAt(payload, "attachment");
  const author = stringAt(attachment, ["author", "displayName"], 200);
  const size = valueAt(attachment, "size");
  return sections(
    `## Attachment${author ? ` by ${plainLine(author)}` : ""}${actionText(event)}`,
    factList([
      ["File", stringAt(attachment, ["filename"], 500)],
      ["Type", stringAt(attachment, ["mimeType"], 200)],
      ["Bytes", typeof size === "number" ? String(size) : null],
      ["URL", stringAt(attachment, ["content"], 2000)],
    ]),
  );
}

function heading(payload: unknown): string {
  const key = stringAt(payload, ["issue", "key"], 120);
  const title = plainLine(stringAt(payload, ["issue", "fields", "summary"]) ?? "");
  return `# Issue${key ? ` ${plainLine(key)}` : ""}${title ? `: ${title}` : ""}`;
}

function facts(fields: unknown, link: string | null): string {
  const labels = valueAt(fields, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 100).flatMap((label) => stringAt({ label }, ["label"], 100) ?? []) : [];
  return factList([
    ["Type", stringAt(fields, ["issuetype", "name"], 100)],
    ["State", stringAt(fields, ["status", "name"], 100)],
    ["Priority", stringAt(fields, ["priority", "name"], 100)],
    ["Author", stringAt(fields, ["creator", "displayName"], 200)],
    ["Assignee", stringAt(fields, ["assignee", "displayName"], 200)],
    ["Labels", names.join(", ") || null],
    ["Link", link],
  ]);
}

/**
 * The fields that an update changed, with their old and new values. A description is too long for one line, so it has its own
 * section.
 */
export function changesOf(event: string, payload: unknown): string[] {
  if (event === "gamma:issue_deleted") return ["issue: deleted"];
  if (event === "comment_updated") return ["comment: edited"];
  if (event === "comment_deleted") return ["comment: deleted"];
  const items = valueAt(payload, "changelog", "items");
  if (event !== "gamma:issue_updated" || !Array.isArray(items)) return [];
  return items.slice(0, 50).flatMap((item) => {
    const field = stringAt(item, ["field"], 100)?.replace(/\s+/g, " ") ?? null;
    if (field === null) return [];
    if (field === "description") return ["description: edited"];
    const [from, to] = ["fromString", "toString"].map((side) => stringAt(item, [side], 500)?.replace(/\s+/g, " ") ?? "none");
    return [`${field}: ${from} → ${to}`];
  });
}

const listedChanges = (event: string, payload: unknown): string =>
  changesOf(event, payload)
    .map((line) => `- ${plainLine(line)}`)
    .join("\n");
