import { type EventText, factList, plainLine, sections, stringAt, timestampAt, valueAt } from "@signalbox/sdk";
import { markdownOf } from "./bodies.ts";
import { changesOf } from "./changes.ts";
import type { Convert } from "./conversions.ts";
import { commentIn, isActivity, isIssue, isNone } from "./names.ts";

/** The dispatcher passes on no more than this. Characters. */
const maxTextLength = 262_144;

/** The text for the agent: Markdown with a heading per part; `""` for a payload without the name of its event. */
export async function eventText(convert: Convert, event: string, payload: unknown): Promise<EventText> {
  const data = dataOf(payload);
  if (isActivity(event)) return activityText(convert, event, payload);
  if (event.startsWith("issue.link.") || event.startsWith("issue_link.")) return linkText(event, data);
  if (isIssue(event)) {
    const changes = changesOf(event, payload).map((line) => `- ${plainLine(line)}`);
    const changed = changes.length > 0 ? `## Changes\n\n${changes.join("\n")}` : "";
    return sections(heading(data), facts(data), changed, await description(convert, data));
  }
  if (event === "") return "";
  const cut = event.lastIndexOf(".");
  const [thing, action] = cut < 0 ? [event, ""] : [event.slice(0, cut), event.slice(cut + 1)];
  const name = thing.replace(/[._]/g, " ");
  // An addition to a cycle or module has it as a member.
  const group = /^(cycle|module)_issue$/.exec(thing)?.[1];
  return groupText(convert, name, action, group === undefined ? data : (valueAt(data, group) ?? data));
}

/** A deleted issue has its members in `previous_attributes` only. */
function dataOf(payload: unknown): unknown {
  const data = valueAt(payload, "data");
  const isEmpty = typeof data === "object" && data !== null && Object.keys(data).length === 0;
  return isEmpty ? valueAt(payload, "previous_attributes") : data;
}

/** The issue of an event about one or a comment on one. */
export function issueIn(event: string, payload: unknown): unknown {
  if (!isActivity(event)) return isIssue(event) ? dataOf(payload) : undefined;
  const data = valueAt(payload, "data");
  return commentIn(payload) === data ? valueAt(data, "issue_detail") : data;
}

const actionTexts: Readonly<Record<string, string>> = { updated: ", edited", deleted: ", deleted" };
const actionText = (event: string): string => actionTexts[event.split(".").at(-1) ?? ""] ?? "";

async function activityText(convert: Convert, event: string, payload: unknown): Promise<EventText> {
  const comment = commentIn(payload);
  const author =
    stringAt(payload, ["activity", "actor", "display_name"], 200) ?? stringAt(comment, ["actor_detail", "display_name"], 200);
  const type = stringAt(comment, ["activity_type"], 100);
  return sections(
    heading(issueIn(event, payload)),
    type && type !== "comment" ? factList([["Activity", type]]) : "",
    `## Comment${author ? ` by ${plainLine(author)}` : ""}${actionText(event)}`,
    await textOf(convert, commentOf(comment)),
  );
}

/** A link has a title of its own; its issue is named by id only. */
const linkText = (event: string, data: unknown): EventText =>
  sections(
    "# Issue",
    `## Link${actionText(event)}`,
    factList([
      ["Title", stringAt(data, ["title"], 500)],
      ["URL", stringAt(data, ["url"], 2000)],
    ]),
  );

/** A cycle, a module, a project, a page: whatever has a name. */
async function groupText(convert: Convert, thing: string, action: string, data: unknown): Promise<EventText> {
  const name = plainLine(stringAt(data, ["name"]) ?? "");
  const day = (member: string) => timestampAt(data, member)?.slice(0, 10) ?? null;
  return sections(
    `# ${plainLine(thing.charAt(0).toUpperCase() + thing.slice(1))}${name ? `: ${name}` : ""}`,
    factList([
      ["Action", action || null],
      ["Identifier", stringAt(data, ["identifier"], 100)],
      ["State", stringAt(data, ["status"], 100)],
      ["Start", day("start_date")],
      ["End", day("end_date") ?? day("target_date")],
    ]),
    await description(convert, data),
  );
}

/** A comment as the webhook contains it: HTML, or plain text. */
export const commentOf = (data: unknown): string =>
  stringAt(data, ["comment_html"], maxTextLength) ??
  stringAt(data, ["comment"], maxTextLength) ??
  stringAt(data, ["comment_stripped"], maxTextLength) ??
  "";

function description(convert: Convert, data: unknown): Promise<string> {
  const html = stringAt(data, ["description_html"], maxTextLength);
  return textOf(
    convert,
    html ?? stringAt(data, ["description"], maxTextLength) ?? stringAt(data, ["description_stripped"], maxTextLength) ?? "",
  );
}

/** Some members contain HTML or plain text. */
const textOf = async (convert: Convert, text: string): Promise<string> =>
  /^\s*<[a-z][^>]*>/i.test(text) ? markdownOf(convert, text) : text.trim();

function heading(data: unknown): string {
  const number = valueAt(data, "sequence_id");
  const title = plainLine(stringAt(data, ["name"]) ?? "");
  return `# Issue${typeof number === "number" ? ` #${number}` : ""}${title ? `: ${title}` : ""}`;
}

const facts = (data: unknown): string =>
  factList([
    ["State", nameAt(data, "state", "state_detail")],
    ["Priority", stringAt(data, ["priority"], 100)],
    ["Labels", names(valueAt(data, "labels")) || null],
    ["Assignees", names(valueAt(data, "assignees")) || null],
  ]);

function nameAt(data: unknown, ...members: readonly string[]): string | null {
  for (const member of [...members].reverse()) {
    const found = stringAt(data, [member, "name"], 200) ?? stringAt(data, [member], 200);
    if (found !== null && !isNone(found)) return found;
  }
  return null;
}

const names = (values: unknown): string =>
  Array.isArray(values)
    ? values
        .slice(0, 100)
        .flatMap((one) => stringAt(one, ["name"], 100) ?? stringAt(one, ["display_name"], 100) ?? [])
        .join(", ")
    : "";
