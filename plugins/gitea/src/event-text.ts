import { type EventText, factList, plainLine, sections, stringAt, stripMarker, valueAt } from "@signalbox/sdk";

/** The dispatcher passes on no more than this. Characters. */
const maxTextLength = 262_144;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export function eventText(event: string, payload: unknown): EventText {
  const pull = valueAt(payload, "pull_request");
  const item = valueAt(payload, "issue") ?? pull;
  if (item === undefined) return "";
  const isPull = pull !== undefined || valueAt(payload, "is_pull") === true;
  const changes = changesOf(payload)
    .map((change) => `- ${plainLine(change)}`)
    .join("\n");
  const remark = body(valueAt(payload, "comment"), "body") || body(valueAt(payload, "review"), "content");
  const by = line(payload, ["sender", "login"]) ?? "unknown";
  return sections(
    heading(isPull ? "Pull request" : "Issue", item),
    facts(item, payload),
    changes && `## Changes\n\n${changes}`,
    body(item, "body"),
    remark && `## ${verdicts[event] ?? "Comment"} by ${plainLine(by)}\n\n${remark}`,
  );
}
const verdicts: Readonly<Record<string, string>> = {
  pull_request_approved: "Approval",
  pull_request_rejected: "Request for changes",
};

/** What an edit changed, from `changes`, which has the former values. */
export function changesOf(payload: unknown): string[] {
  const item = valueAt(payload, "issue") ?? valueAt(payload, "pull_request");
  const title = line(payload, ["changes", "title", "from"]);
  const had = valueAt(payload, "changes", "body") !== undefined && valueAt(payload, "comment") === undefined;
  const action = stringAt(payload, ["action"], 50);
  const state = action === "closed" ? "open → closed" : action === "reopened" ? "closed → open" : null;
  return [
    ...(state ? [`state: ${valueAt(item, "merged") === true ? "open → merged" : state}`] : []),
    ...(title ? [`title: ${title} → ${line(item, ["title"]) ?? "none"}`] : []),
    ...(had ? ["description changed"] : []),
  ];
}

function heading(kind: string, item: unknown): string {
  const number = valueAt(item, "number");
  const title = line(item, ["title"]);
  return `# ${kind}${Number.isSafeInteger(number) ? ` #${number}` : ""}${title ? `: ${plainLine(title)}` : ""}`;
}

function facts(item: unknown, payload: unknown): string {
  const labels = valueAt(item, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 50).flatMap((label) => line(label, ["name"]) ?? []) : [];
  const entries = [
    ["State", line(item, ["state"])],
    ["By", line(payload, ["sender", "login"])],
    ["Labels", names.join(", ") || null],
    ["From", line(item, ["head", "ref"])],
    ["Into", line(item, ["base", "ref"])],
    ["Link", line(item, ["html_url"])],
  ] as const;
  return factList(entries);
}

const line = (of: unknown, path: readonly string[]): string | null => stringAt(of, path, 500)?.replace(/\s+/g, " ") ?? null;
const body = (of: unknown, name: string): string => stripMarker(stringAt(of, [name], maxTextLength) ?? "");
