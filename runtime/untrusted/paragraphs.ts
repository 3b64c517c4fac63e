import { definitionAt } from "./link-target.ts";

const prefix = /(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/y;
/** A line after which a definition can begin: empty, a heading, its underline, a break, a fence, a footnote, or the end of HTML. */
const blockEnd = /^(?:[-=*_+|: \t\r]*$|\d{1,9}[.)]\r?$|#{1,6}(?:[ \t\r]|$)|```|~~~|\[\^)|>/;

/** Positions of the brackets that begin a line inside of a paragraph, where no definition can begin. */
export function bracketsInParagraphs(text: string): Set<number> {
  const found = new Set<number>();
  /** The marks and blanks before the text of the last line, if a paragraph can continue after it. */
  let before: string | null = null;
  for (let start = 0; start < text.length; ) {
    prefix.lastIndex = start;
    const marks = prefix.exec(text)?.[0] ?? "";
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const content = start + marks.length;
    const isInside =
      text[content] === "[" && before !== null && marks.startsWith(before) && blank.test(marks.slice(before.length));
    const definition = text[content] === "[" && !isInside ? definitionAt(text, content, false) : null;
    if (isInside) found.add(content);
    if (definition !== null && definition !== "open") {
      before = null;
      start = definition.end + 1;
      continue;
    }
    before = content >= end || blockEnd.test(text.slice(content, end)) ? null : marks.replace(/[^>\t]/g, " ");
    start = end + 1;
  }
  return found;
}

const blank = /^[ \t]*$/;
