import { truncate } from "./json.ts";

/** The line at the end of an answer that names its agent and run, in small print or italics. */
const signature = /\n\n(?:<sub>[^\n]{1,600}<\/sub>|\*[^\s*][^\n*]{0,600}\*)\s*$/;

/**
 * The Markdown in at most `longest` characters: cut at the end of a paragraph, with a note that says so. A code block that is cut is
 * closed, and a signature at the end stays.
 */
export function cutMarkdown(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const signed = signature.exec(text)?.[0].trimEnd() ?? "";
  const end = signed.length < longest / 2 ? signed : "";
  const note = `\n\n> **Cut off.** This text has ${text.length} characters, but a comment can have only ${longest}. The end is missing.${end}`;
  const room = Math.max(0, longest - note.length - 20);
  const head = truncate(text.slice(0, text.length - signed.length), room);
  const paragraph = Math.max(head.lastIndexOf("\n\n"), head.lastIndexOf("\n\r\n"));
  const line = head.lastIndexOf("\n");
  // A paragraph that is longer than a half of the whole is cut at a line, or where it is.
  const at = paragraph > room / 2 ? paragraph : line > room / 2 ? line : room;
  const shown = head.slice(0, at).trimEnd();
  const fence = openFence(shown);
  return `${shown}${fence ? `\n${fence}` : ""}${note}`;
}

/** Character and length of the fence that is still open at the end of a text; `null` if there is none. */
export function openFence(text: string): string | null {
  if (!text.includes("```") && !text.includes("~~~")) return null;
  let open: string | null = null;
  for (const [, signs = "", rest = ""] of text.matchAll(/^[ \t>]*(`{3,}|~{3,})(.*)$/gm)) {
    if (open === null) open = rest.includes("`") && signs[0] === "`" ? null : signs;
    else if (signs[0] === open[0] && signs.length >= open.length && rest.trim() === "") open = null;
  }
  return open;
}
