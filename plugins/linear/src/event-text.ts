import {
  type EventText,
  factList,
  plainLine,
  sections,
  stringAt,
  stripInvisibleMarker,
  stripMarker,
  valueAt,
} from "@signalbox/sdk";

/** The dispatcher passes on no more than this. Characters. */
const maxTextLength = 262_144;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export function eventText(event: string, action: string | null, payload: unknown): EventText {
  const data = valueAt(payload, "data");
  if (event === "Issue") {
    const changes = changesOf(event, action, payload)
      .map((change) => `- ${plainLine(change)}`)
      .join("\n");
    return sections(heading(data), facts(data, payload), changes && `## Changes\n\n${changes}`, body(data, "description"));
  }
  if (event === "Comment") return commentText(action, data, payload);
  if (event !== "Reaction") return "";
  const [emoji, name] = [line(data, ["emoji"]), line(data, ["user", "name"]) ?? line(payload, ["actor", "name"])];
  const text = body(valueAt(data, "comment"), "body");
  return sections(
    heading(valueAt(data, "issue")),
    `${plainLine(name ?? "Someone")} reacted with ${emoji ?? "an emoji"}`,
    quote(text),
  );
}

function commentText(action: string | null, data: unknown, payload: unknown): EventText {
  const author = line(data, ["user", "name"]) ?? line(data, ["externalUser", "name"]) ?? line(payload, ["actor", "name"]);
  const edited = action === "update" ? " (edited)" : "";
  const parent = body(valueAt(data, "parent"), "body");
  return sections(
    heading(valueAt(data, "issue")),
    parent && `## In answer to\n\n${quote(parent)}`,
    `## Comment${author ? ` by ${plainLine(author)}` : ""}${edited}`,
    quote(body(data, "quotedText")),
    body(data, "body"),
  );
}

/** The changes in `updatedFrom`: the old values, as ids where the payload has ids. A poll adds `changes`, in words. */
export function changesOf(event: string, action: string | null, payload: unknown): string[] {
  if (event !== "Issue" || action !== "update") return [];
  const [data, from, polled] = ["data", "updatedFrom", "changes"].map((name) => valueAt(payload, name));
  if (Array.isArray(polled)) return polled.slice(0, 50).flatMap((one) => line({ one }, ["one"]) ?? []);
  return changed
    .flatMap(([member, name, path]) => {
      if (valueAt(from, member) === undefined) return [];
      const now = path === null ? null : (line(data, path) ?? "none");
      const before = member.endsWith("Id") ? null : line(from, [member]);
      if (now === null) return `${name} changed`;
      return before === null ? `${name}: → ${now}` : `${name}: ${before} → ${now}`;
    })
    .concat(labelChanges(data, from));
}

const changed: readonly (readonly [string, string, readonly string[] | null])[] = [
  ["stateId", "state", ["state", "name"]],
  ["title", "title", ["title"]],
  ["description", "description", null],
  ["assigneeId", "assignee", ["assignee", "name"]],
  ["priorityLabel", "priority", ["priorityLabel"]],
  ["teamId", "team", ["team", "name"]],
  ["projectId", "project", ["project", "name"]],
  ["dueDate", "due date", ["dueDate"]],
];

/** Labels that were removed are in the payload by their ids only. */
function labelChanges(data: unknown, from: unknown): string[] {
  const before = valueAt(from, "labelIds");
  const labels = valueAt(data, "labels");
  if (!Array.isArray(before) || !Array.isArray(labels)) return [];
  const names = labels.slice(0, 50).flatMap((label) => {
    const id = valueAt(label, "id");
    return before.includes(id) ? [] : (line(label, ["name"]) ?? []);
  });
  const now = labels.map((label) => valueAt(label, "id"));
  const removed = before.filter((id) => !now.includes(id)).length;
  const added = names.map((name) => `label added: ${name}`);
  return removed > 0 ? [...added, `labels removed: ${removed}`] : added;
}

function heading(issue: unknown): string {
  const [identifier, title] = [line(issue, ["identifier"]), line(issue, ["title"])];
  return `# Issue${identifier ? ` ${identifier}` : ""}${title ? `: ${plainLine(title)}` : ""}`;
}

function facts(data: unknown, payload: unknown): string {
  const labels = valueAt(data, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 50).flatMap((label) => line(label, ["name"]) ?? []) : [];
  const entries = [
    ["State", line(data, ["state", "name"])],
    ["By", line(payload, ["actor", "name"])],
    ["Labels", names.join(", ") || null],
    ["Assignee", line(data, ["assignee", "name"])],
    ["Priority", line(data, ["priorityLabel"])],
    ["Link", line(data, ["url"]) ?? line(payload, ["url"])],
  ] as const;
  return factList(entries);
}

const line = (of: unknown, path: readonly string[]): string | null => stringAt(of, path, 500)?.replace(/\s+/g, " ") ?? null;
const body = (of: unknown, name: string): string => stripInvisibleMarker(stripMarker(stringAt(of, [name], maxTextLength) ?? ""));
const quote = (text: string): string => (text === "" ? "" : text.replace(/^/gm, "> "));
