import { stringAt, valueAt } from "@signalbox/sdk";
import { markdownOf } from "./bodies.ts";
import type { Convert } from "./conversions.ts";

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export async function eventText(convert: Convert, event: string, payload: unknown): Promise<string> {
  const fields = valueAt(payload, "issue", "fields");
  if (!event.startsWith("gamma:issue_") && !event.startsWith("comment_")) return "";
  const comment = valueAt(payload, "comment");
  const [description, commented] = await Promise.all([
    markdownOf(convert, valueAt(fields, "description")),
    markdownOf(convert, valueAt(comment, "body")),
  ]);
  if (event.startsWith("gamma:issue_")) {
    const changes = changesOf(payload);
    return sections(heading(payload), facts(fields), changes && `## Changes\n\n${changes}`, description);
  }
  const author = stringAt(comment, ["author", "displayName"], 200);
  return sections(
    heading(payload),
    facts(fields),
    `## Comment${author ? ` by ${author}` : ""}`,
    commented,
    description && `## Description\n\n${description}`,
  );
}

function heading(payload: unknown): string {
  const key = stringAt(payload, ["issue", "key"], 120);
  const title = stringAt(payload, ["issue", "fields", "summary"])?.replace(/\s+/g, " ");
  return `# Issue${key ? ` ${key}` : ""}${title ? `: ${title}` : ""}`;
}

function facts(fields: unknown): string {
  const labels = valueAt(fields, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 100).flatMap((label) => stringAt({ label }, ["label"], 100) ?? []) : [];
  return list([
    ["Type", stringAt(fields, ["issuetype", "name"], 100)],
    ["State", stringAt(fields, ["status", "name"], 100)],
    ["Priority", stringAt(fields, ["priority", "name"], 100)],
    ["Author", stringAt(fields, ["creator", "displayName"], 200)],
    ["Assignee", stringAt(fields, ["assignee", "displayName"], 200)],
    ["Labels", names.join(", ") || null],
  ]);
}

/** The fields that an update changed, with their old and new values. The description has its own section. */
function changesOf(payload: unknown): string {
  const items = valueAt(payload, "changelog", "items");
  if (!Array.isArray(items)) return "";
  return items
    .slice(0, 50)
    .flatMap((item) => {
      const field = stringAt(item, ["field"], 100);
      if (field === null || field === "description") return [];
      const [from, to] = ["fromString", "toString"].map((side) => stringAt(item, [side], 500)?.replace(/\s+/g, " ") ?? "none");
      return [`- ${field}: ${from} → ${to}`];
    })
    .join("\n");
}

const list = (entries: readonly (readonly [string, string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${value}`)).join("\n");

const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
