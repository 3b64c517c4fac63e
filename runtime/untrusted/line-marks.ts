const marks = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/;
const mark = />[ ]?|[ \t]+|[-*+]|\d{1,9}[.)]/g;

/** What precedes a line's content: quotation marks, markers of lists and blanks. */
export interface LineMarks {
  readonly length: number;
  /** The part up to the last quotation mark, with blanks instead of markers. */
  readonly quotation: string;
  /** Columns before the content, after the quotation marks. */
  readonly indent: number;
  /** The column at which the item that begins in this line has its content; `null` if none does. */
  readonly item: number | null;
}

/** A further line of a footnote begins with so many blanks. */
const footnoteIndent = "    ";

/** What precedes the further lines of a block that begins in this line: blanks instead of the markers of lists and footnotes. */
export const continuationOf = (line: string, marksLength: number): string =>
  line.slice(0, marksLength).replace(/[^>\t]/g, " ") + (line.startsWith("[^", marksLength) ? footnoteIndent : "");

/** Most lines have none, so a text of a million short lines needs no object for each. */
const none: LineMarks = { length: 0, quotation: "", indent: 0, item: null };

export function lineMarks(line: string): LineMarks {
  const [found = ""] = marks.exec(line) ?? [];
  if (found === "") return none;
  let [indent, afterMarker, item]: [number, number | null, number | null] = [0, null, null];
  for (const [sign] of found.matchAll(mark)) {
    if (sign[0] === ">") [indent, afterMarker, item] = [0, null, null];
    else if (sign[0] === " " || sign[0] === "\t") {
      const from = indent;
      for (const blank of sign) indent += blank === "\t" ? 4 - (indent % 4) : 1;
      if (afterMarker !== null) item = indent - from > 4 ? from + 1 : indent;
      afterMarker = null;
    } else {
      indent += sign.length;
      afterMarker = indent;
    }
  }
  const quotation = found.slice(0, found.lastIndexOf(">") + 1).replace(/[^>\t]/g, " ");
  return { length: found.length, quotation, indent, item };
}
