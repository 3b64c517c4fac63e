import { openFence } from "@signalbox/sdk";
import { randomName } from "../platform/ids.ts";
import { cleanLine } from "./clean.ts";
import { cleanParts } from "./text-parts.ts";

/** The origin of a text. Absent members are unknown. */
export interface Provenance {
  readonly [what: string]: string | null | undefined;
}

/**
 * The parts of an external text as a model reads them: cleaned, between tags with a random name, which no part can know and so cannot
 * close, after lines that name their origin. `title` is our own text.
 */
export async function fence(title: string, parts: readonly string[], kind: string, provenance: Provenance = {}): Promise<string> {
  const cleaned = (await cleanParts(parts)).map(closeFences).filter((part) => part.trim() !== "");
  return fenceCleaned(title, cleaned.join("\n\n"), kind, provenance);
}

/** A name for a fence, which no text can know. */
export const newTag = (kind: string): string => `${kind}-${randomName()}`;

/** The same for a text that is already clean. */
export function fenceCleaned(
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

/** Closes a code block that was left open, because it would enclose the following content. */
function closeFences(text: string): string {
  const open = openFence(text);
  return open === null ? text : `${text}\n${open}`;
}
