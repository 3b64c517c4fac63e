import { type Json, type SourceEvent, valueAt } from "@signalbox/sdk";

/** Maximum depth at which labels are searched for: `object_attributes.labels`, `issue.fields.labels`. */
const maxDepth = 3;
const maxLabels = 500;

/**
 * The labels in a payload, from the members `labels` and `label`, which all platforms use: texts, or objects with a name. `label`
 * is the one that was added or removed, so it counts only in a payload without `labels`.
 */
export function labelsIn(payload: Json): string[] {
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
  return [...found];
}

/** Members of a payload that contain the text of a comment. */
const commentTexts = [
  ["comment", "body"],
  ["object_attributes", "note"],
  ["review", "body"],
  ["data", "comment_stripped"],
  ["data", "comment_html"],
];

/** The new text of the event: its comment, or if there is none, the whole text for the agent. */
export function newestText({ text }: SourceEvent, payload: Json): string {
  for (const path of commentTexts) {
    const value = valueAt(payload, ...path);
    if (typeof value === "string") return value;
  }
  return text;
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_-]/u.test(character);

/** Whether a text mentions `@name`, ignoring case, and not as a part of a longer name. */
export function mentions(text: string, mention: string): boolean {
  const name = mention.replace(/^@?/, "@").toLowerCase();
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(name); at !== -1; at = lower.indexOf(name, at + 1)) {
    if (!isWord(lower[at - 1]) && !isWord(lower[at + name.length])) return true;
  }
  return false;
}
