import { openFence } from "../platform/markdown/prose.ts";

/** The text in at most `longest` characters, cut at the end of a paragraph, with a note that says so. */
export function cutToFit(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const note = `\n\n> **Cut off.** This text has ${text.length} characters; a comment holds ${longest}. The end is missing.`;
  const room = Math.max(0, longest - note.length - 20);
  const head = text.slice(0, room).toWellFormed();
  const paragraph = head.lastIndexOf("\n\n");
  const line = head.lastIndexOf("\n");
  // A paragraph that is longer than a half of the whole is cut at a line, or where it is.
  const end = paragraph > room / 2 ? paragraph : line > room / 2 ? line : room;
  const shown = head.slice(0, end).trimEnd();
  const fence = openFence(shown);
  return `${shown}${fence ? `\n${fence}` : ""}${note}`;
}
