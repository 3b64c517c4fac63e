import { type Json, type SourceEvent, valueAt } from "@signalbox/sdk";
import type { TextFormat } from "./own-words.ts";

/** Maximum depth at which labels are searched for: `object_attributes.labels`, `issue.fields.labels`. */
const maxDepth = 3;
const maxLabels = 500;

/**
 * The labels in a payload, from the members `labels` and `label`, which all platforms use: texts, or objects with a name. `label`
 * is the one that was added or removed, so it counts only in a payload without `labels`. `isKnown`: the payload contains labels, or
 * an empty list of them. Comments of Jira and Plane do not.
 */
export function labelsIn(payload: Json): { readonly names: string[]; readonly isKnown: boolean } {
  const found = new Set<string>();
  const changed: unknown[] = [];
  let hasLabels = false;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || Array.isArray(value) || found.size >= maxLabels) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === "labels" && Array.isArray(member)) {
        hasLabels = true;
        for (const label of member) add(label);
      } else if (name === "label") changed.push(member);
      else if (depth < maxDepth) visit(member, depth + 1);
    }
  };
  const add = (label: unknown): void => {
    const name = typeof label === "string" ? label : (valueAt(label, "name") ?? valueAt(label, "title"));
    if (typeof name === "string" && found.size < maxLabels) found.add(name.trim());
  };
  visit(payload, 1);
  if (!hasLabels) for (const label of changed) add(label);
  return { names: [...found], isKnown: hasLabels || found.size > 0 };
}

type Place = readonly [format: TextFormat, ...path: string[]];

/** Members of a payload that contain the text of a comment. */
const commentTexts: readonly Place[] = [
  ["markdown", "comment", "body"],
  ["markdown", "object_attributes", "note"],
  ["markdown", "review", "body"],
  ["unknown", "data", "body"],
  ["html", "data", "comment_html"],
  ["unknown", "data", "comment_stripped"],
  ["html", "data", "comment", "comment_html"],
  ["unknown", "data", "comment"],
];
/** Members that contain the description of the subject. */
const descriptions: readonly Place[] = [
  ["markdown", "issue", "body"],
  ["markdown", "pull_request", "body"],
  ["markdown", "discussion", "body"],
  ["markdown", "object_attributes", "description"],
  ["wiki", "issue", "fields", "description"],
  ["html", "data", "description_html"],
  ["unknown", "data", "description_stripped"],
  ["unknown", "data", "description"],
];

interface FormattedText {
  readonly text: string;
  readonly format: TextFormat;
}

/** Jira's comments are at the same place as those of other platforms. */
const isOfJira = (payload: Json): boolean =>
  typeof valueAt(payload, "issue", "fields") === "object" || /^(?:jira:|comment_)/.test(String(valueAt(payload, "webhookEvent")));

function textAt(payload: Json, places: readonly Place[]): FormattedText | undefined {
  for (const [format, ...path] of places) {
    const text = valueAt(payload, ...path);
    if (typeof text === "string") return { text, format: format === "markdown" && isOfJira(payload) ? "wiki" : format };
  }
  return undefined;
}

/**
 * The new text of the event: its comment, or if there is none, the title and the texts for the agent. A title is no markup: what
 * looks like a comment that begins there hides nothing. The text for the agent can contain titles, too, so the description is also
 * separate.
 */
export function newestText(
  { title, text }: SourceEvent,
  payload: Json,
): { readonly title: string; readonly texts: FormattedText[] } {
  const comment = textAt(payload, commentTexts);
  if (comment !== undefined) return { title: "", texts: [comment] };
  const [first = "", ...others] = typeof text === "string" ? [text] : text;
  const heading = /^# .*/.exec(first)?.[0] ?? "";
  const description = textAt(payload, descriptions);
  const format = description?.format === "markdown" ? "markdown" : "unknown";
  const parts = [first.slice(heading.length), ...others].map((part): FormattedText => ({ text: part, format }));
  return { title: title ?? heading, texts: [...parts, ...(description ? [description] : [])] };
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_-]/u.test(character);

/** Names are compared without regard to case. A letter with an accent can be one character or two, which look the same. */
export const comparable = (name: string): string => name.normalize("NFC").toLowerCase();

/**
 * Whether a text mentions `@name`, ignoring case, and not as a part of a longer name. Underscores around it can be emphasis:
 * `_@name_`.
 */
export function mentions(text: string, mention: string): boolean {
  const name = comparable(mention.replace(/^@?/, "@"));
  // A name of ASCII characters is the same in all texts.
  const lower = /^[ -~]*$/.test(name) ? text.toLowerCase() : comparable(text);
  for (let at = lower.indexOf(name); at !== -1; at = lower.indexOf(name, at + 1)) {
    let [before, after] = [at - 1, at + name.length];
    while (lower[before] === "_") before--;
    while (lower[after] === "_") after++;
    if (!isWord(lower[before]) && !isWord(lower[after])) return true;
  }
  return false;
}
