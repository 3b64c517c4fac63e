import { type EventText, factList, plainLine, sections, stringAt, stripMarker, valueAt } from "@signalbox/sdk";
import { changesOf } from "./changes.ts";
import { otherText } from "./other-text.ts";
import { isEpic, isPrivate } from "./place.ts";

/** The dispatcher passes on no more than this. Characters. */
const maxTextLength = 262_144;
/** Code that is shown beside a comment, in characters. */
const maxCodeLength = 10_000;

/** The text for the agent: Markdown with a heading per part; `""` for a payload without the name of its event. */
export function eventText(event: string, action: string | null, payload: unknown): EventText {
  const item = valueAt(payload, "object_attributes");
  const changes = changesOf(event, action, payload);
  if (/^(Confidential )?Issue Hook$/.test(event)) return itemText(...kindOf(item), item, payload, changes);
  if (event === "Merge Request Hook") return itemText("Merge request", "!", item, payload, changes);
  if (/^(Confidential )?Note Hook$/.test(event)) return noteText(action, payload);
  return event === "System Hook" ? "" : otherText(event, action, payload);
}

/** A work item names its type: task, incident, epic. */
function kindOf(item: unknown): [string, string] {
  if (isEpic(item)) return ["Epic", "&"];
  const type = stringAt(item, ["type"], 50);
  return [type !== null && /^[A-Z][A-Za-z ]*$/.test(type) ? type : "Issue", "#"];
}

function itemText(kind: string, sign: string, item: unknown, payload: unknown, changes: readonly string[]): EventText {
  const list = changes.map((change) => `- ${plainLine(change)}`).join("\n");
  return sections(heading(kind, sign, item), facts(item, payload), list && `## Changes\n\n${list}`, body(item, "description"));
}

function noteText(action: string | null, payload: unknown): EventText {
  const note = valueAt(payload, "object_attributes");
  const author = stringAt(payload, ["user", "username"], 200);
  const internal = isPrivate("Note Hook", payload) ? "Internal comment" : "Comment";
  const changed = action === "update" ? " (edited)" : "";
  return sections(
    ...about(payload),
    position(note),
    `## ${internal}${author ? ` by ${plainLine(author)}` : ""}${changed}`,
    body(note, "note"),
    description(payload),
  );
}

/** The heading and the facts of what a note was written on. */
function about(payload: unknown): string[] {
  const [issue, merge, commit, snippet, epic] = ["issue", "merge_request", "commit", "snippet", "epic"].map((name) =>
    valueAt(payload, name),
  );
  const link = ["Link", stringAt(payload, ["object_attributes", "url"], 2000)] as const;
  const state = (item: unknown) => factList([["State", stringAt(item, ["state"], 100)], link]);
  if (merge) return [heading("Merge request", "!", merge), state(merge)];
  if (epic) return [heading("Epic", "&", epic), state(epic)];
  if (issue) return [heading(...kindOf(issue), issue), state(issue)];
  if (snippet) {
    const file = stringAt(snippet, ["file_name"], 500)?.replace(/\s+/g, " ") ?? null;
    return [
      heading("Snippet", "$", { title: valueAt(snippet, "title"), iid: valueAt(snippet, "id") }),
      factList([["File", file], link]),
    ];
  }
  const sha = stringAt(commit, ["id"], 100) ?? stringAt(payload, ["object_attributes", "commit_id"], 100);
  const title = stringAt(commit, ["message"], 1000)?.split("\n")[0];
  const by = stringAt(commit, ["author", "name"], 200)?.replace(/\s+/g, " ") ?? null;
  return [`# Commit${sha ? ` ${plainLine(sha)}` : ""}${title ? `: ${plainLine(title)}` : ""}`, factList([["Author", by], link])];
}

/** What a reader of the note sees above it: the description, the commit message, or the code of the snippet. */
function description(payload: unknown): string {
  for (const name of ["merge_request", "epic", "issue"]) {
    const text = body(valueAt(payload, name), "description");
    if (text) return `## Description\n\n${text}`;
  }
  const code = stringAt(payload, ["snippet", "content"], maxCodeLength);
  if (code) return `## Content\n\n${codeBlock(code)}`;
  const message = stringAt(payload, ["commit", "message"], maxCodeLength);
  return message ? `## Message\n\n${message.trim()}` : "";
}

/** File and line of a note on a diff, with the diff if the payload contains it. */
function position(note: unknown): EventText {
  const at = valueAt(note, "position");
  const diff = valueAt(note, "st_diff");
  const path =
    stringAt(at, ["new_path"], 500) ??
    stringAt(at, ["old_path"], 500) ??
    stringAt(diff, ["new_path"], 500) ??
    stringAt(diff, ["old_path"], 500);
  if (path === null) return "";
  // Old servers encode the line: digest of the path, old line, new line.
  const [, oldLine, newLine] = /^[0-9a-f]+_(\d{1,9})_(\d{1,9})$/.exec(stringAt(note, ["line_code"], 200) ?? "") ?? [];
  const [line, before] = [valueAt(at, "new_line") ?? newLine, valueAt(at, "old_line") ?? oldLine];
  const shown = isLine(line) ? String(line) : isLine(before) ? `${before} (before the change)` : null;
  const text = stringAt(diff, ["diff"], maxCodeLength);
  return sections(
    factList([
      ["File", path.replace(/\s+/g, " ")],
      ["Line", shown],
    ]),
    text ? codeBlock(text, "diff") : "",
  );
}

const isLine = (value: unknown): boolean => (typeof value === "number" || typeof value === "string") && Number(value) > 0;

/** Puts the text into a fence longer than any run of backticks in it, so that the text cannot close the fence. */
function codeBlock(text: string, language = ""): string {
  const longestRun = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longestRun + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function heading(kind: string, sign: string, item: unknown): string {
  const number = valueAt(item, "iid");
  const title = plainLine(stringAt(item, ["title"]) ?? "");
  return `# ${kind}${typeof number === "number" ? ` ${sign}${number}` : ""}${title ? `: ${title}` : ""}`;
}

const facts = (item: unknown, payload: unknown): string =>
  factList([
    ["State", stringAt(item, ["state"], 100)],
    ["By", stringAt(payload, ["user", "username"], 200)],
    ["Labels", labels(valueAt(payload, "labels")) || null],
    ["From", stringAt(item, ["source_branch"], 500)],
    ["Into", stringAt(item, ["target_branch"], 500)],
    ["Link", stringAt(item, ["url"], 2000)],
  ]);

const labels = (list: unknown): string =>
  Array.isArray(list)
    ? list
        .slice(0, 100)
        .flatMap((label) => stringAt(label, ["title"], 100) ?? [])
        .join(", ")
    : "";

const body = (of: unknown, name: string): string => stripMarker(stringAt(of, [name], maxTextLength) ?? "");
