import { stringAt, valueAt } from "@signalbox/sdk";
import { markdownOf } from "./bodies.ts";
import type { Convert } from "./conversions.ts";
import { isActivity } from "./names.ts";

/** The dispatcher passes on no more than this. Characters. */
const longest = 262_144;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export async function eventText(convert: Convert, event: string, payload: unknown): Promise<string> {
  const data = valueAt(payload, "data");
  if (isActivity(event)) return activityText(convert, data, valueAt(payload, "activity"));
  if (!event.startsWith("issue.")) return "";
  const changes = changesOf(payload);
  return sections(heading(data), facts(data), changes && `## Changes\n\n${changes}`, await description(convert, data));
}

async function activityText(convert: Convert, data: unknown, activity: unknown): Promise<string> {
  const author = stringAt(activity, ["actor", "display_name"], 200) ?? stringAt(data, ["actor_detail", "display_name"], 200);
  const type = stringAt(data, ["activity_type"], 100);
  return sections(
    heading(valueAt(data, "issue_detail")),
    type && type !== "comment" ? list([["Activity", type]]) : "",
    `## Comment${author ? ` by ${author}` : ""}`,
    await textOf(convert, commentOf(data)),
  );
}

/** A comment as the webhook contains it: HTML, or plain text. */
export const commentOf = (data: unknown): string =>
  stringAt(data, ["comment_html"], longest) ??
  stringAt(data, ["comment"], longest) ??
  stringAt(data, ["comment_stripped"], longest) ??
  "";

function description(convert: Convert, data: unknown): Promise<string> {
  const html = stringAt(data, ["description_html"], longest);
  return textOf(
    convert,
    html ?? stringAt(data, ["description"], longest) ?? stringAt(data, ["description_stripped"], longest) ?? "",
  );
}

/** Some members contain HTML or plain text. */
const textOf = async (convert: Convert, text: string): Promise<string> =>
  /^\s*<[a-z][^>]*>/i.test(text) ? markdownOf(convert, text) : text.trim();

function heading(data: unknown): string {
  const number = valueAt(data, "sequence_id");
  const title = stringAt(data, ["name"])?.replace(/\s+/g, " ");
  return `# Issue${typeof number === "number" ? ` #${number}` : ""}${title ? `: ${title}` : ""}`;
}

const facts = (data: unknown): string =>
  list([
    ["State", nameAt(data, "state", "state_detail")],
    ["Priority", stringAt(data, ["priority"], 100)],
    ["Labels", names(valueAt(data, "labels")) || null],
    ["Assignees", names(valueAt(data, "assignees")) || null],
  ]);

function nameAt(data: unknown, ...members: readonly string[]): string | null {
  for (const member of [...members].reverse()) {
    const found = stringAt(data, [member, "name"], 200) ?? stringAt(data, [member], 200);
    if (found !== null) return found;
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

/** The fields that an update changed, with old and new values: `changes` has all of them, `activity` the one of this webhook. */
function changesOf(payload: unknown): string {
  const changes = valueAt(payload, "data", "changes");
  const named = typeof changes === "object" && changes !== null ? Object.keys(changes).slice(0, 50) : [];
  const lines = named
    .filter((name) => /^\w{1,50}$/.test(name))
    .map((name) => line(name, valueAt(changes, name, "old"), valueAt(changes, name, "new")));
  const activity = valueAt(payload, "activity");
  const field = stringAt(activity, ["field"], 50);
  if (field !== null && field !== "description" && !named.includes(field))
    lines.push(line(field, valueAt(activity, "old_value"), valueAt(activity, "new_value")));
  return lines.join("\n");
}

const line = (name: string, from: unknown, to: unknown): string => `- ${name}: ${shown(from)} → ${shown(to)}`;

function shown(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return (stringAt({ value }, ["value"], 500) ?? stringAt(value, ["name"], 500) ?? "none").replace(/\s+/g, " ");
}

const list = (entries: readonly (readonly [string, string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${value}`)).join("\n");

const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
