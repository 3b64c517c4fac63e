import { randomBytes } from "node:crypto";
import { openFence } from "@signalbox/sdk";
import { cleanLine, cleanText } from "./clean.ts";

/** Where a text comes from. Members that are absent are not known. */
export interface Provenance {
  readonly [what: string]: string | null | undefined;
}

/**
 * A text from outside, as a model is shown it: cleaned, between tags with a random name, which the text cannot know and so
 * cannot close, and behind lines that say where it comes from. `title` is ours.
 */
export function fence(title: string, text: string, kind: string, provenance: Provenance = {}): string {
  return enclosed(title, closed(cleanText(text)), kind, provenance);
}

/** A name for a fence that no text can know. */
export const newTag = (kind: string): string => `${kind}-${randomBytes(6).toString("hex")}`;

/** The same for a text that is clean. */
export function enclosed(
  title: string,
  text: string,
  kind: string,
  provenance: Provenance = {},
  tag: string = newTag(kind),
): string {
  const lines = Object.entries(provenance).flatMap(([what, value]) => (value ? `[${what}: ${cleanLine(value)}]\n` : []));
  const head = lines.length > 0 ? `${lines.join("")}\n` : "";
  return `${title}\n<${tag}>\n${head}${text}\n</${tag}>`;
}

/** Ends a code block that is left open: it would take in what follows the text. */
function closed(text: string): string {
  const open = openFence(text);
  return open === null ? text : `${text}\n${open}`;
}
