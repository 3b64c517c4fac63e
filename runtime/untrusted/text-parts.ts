import type { EventText } from "@signalbox/sdk";
import { yieldIfLong } from "../platform/next-turn.ts";
import { cleanStart, cleanText } from "./clean.ts";

// The text of an event consists of parts that the platform shows separately. They are cleaned separately too: in one text, a comment
// could open a hidden element or a code block that the description of its issue ends, and so hide or show what is between them.

/** Separates the stored parts. It is removed from the parts, so no author can add one. */
const separator = "\u001e";

/** The parts as one string for the database. After `maxLength` characters, they are cut, and a last part says so. */
export function storedParts(text: EventText, maxLength: number): string {
  const parts = (typeof text === "string" ? [text] : text).map((part) => part.replaceAll(separator, ""));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return (length > maxLength ? cutParts(parts, maxLength, length) : parts).filter((part) => part !== "").join(separator);
}

function cutParts(parts: readonly string[], maxLength: number, length: number): string[] {
  const kept: string[] = [];
  let left = maxLength;
  for (const part of parts) {
    if (left <= 0) break;
    kept.push(part.slice(0, left));
    left -= part.length;
  }
  return [...kept, `[cut: ${length} characters in all]`];
}

const cutNote = /^\[cut: \d+ (?:bytes|characters) in all\]$/;

export const partsOf = (stored: string): string[] => stored.split(separator);

/**
 * The parts as a model may read them; a long one in a turn of the event loop of its own. What was cut off before the note could hide
 * the end of the part, so that is removed. An author who writes such a note only has more removed.
 */
export async function cleanParts(parts: readonly string[]): Promise<string[]> {
  const cleaned: string[] = [];
  for (const [i, part] of parts.entries()) {
    await yieldIfLong(part);
    const isCut = cutNote.test(parts[i + 1] ?? "");
    cleaned.push(await yieldIfLong(isCut ? cleanStart(part, part.length - 1, part.length - 1) : cleanText(part)));
  }
  return cleaned;
}
