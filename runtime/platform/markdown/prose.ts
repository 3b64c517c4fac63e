import { CodeLines } from "./code-lines.ts";

/**
 * Rewrites what is not code in a Markdown text, piece by piece, and leaves code blocks and code spans as they are. What the
 * platforms may read differently is not code: a fence that is not closed, a span over several lines, backticks in HTML.
 */
export function rewriteProse(text: string, rewrite: (prose: string) => string): string {
  if (!text.includes("`") && !text.includes("~~~")) return rewrite(text);
  const lines = new CodeLines(text);
  let out = "";
  let from = 0;
  let inHtml = false;
  const code = (start: number, end: number) => {
    if (start > from) out += rewrite(text.slice(from, start));
    out += text.slice(start, end);
    from = end;
  };
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, end);
    if (line.trim() === "") inHtml = false;
    else if (/^[ \t>]{0,40}<[A-Za-z/!?]/.test(line)) inHtml = true;
    if (inHtml) start = end + 1;
    else if (lines.isCode(start, end)) {
      code(start, end);
      start = end + 1;
    } else {
      for (const [spanStart, spanEnd] of codeSpans(line)) code(start + spanStart, start + spanEnd);
      start = end + 1;
    }
  }
  return from < text.length ? out + rewrite(text.slice(from)) : out;
}

/** The code spans of a line, without those that only an escaped backtick begins. */
function codeSpans(line: string): [number, number][] {
  const spans: [number, number][] = [];
  if (!line.includes("`")) return spans;
  const runs = [...line.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }));
  /** Positions of the runs of each length, the last one first. */
  const byLength = Map.groupBy([...runs].reverse(), ({ length }) => length);
  let until = 0;
  for (const { at, length } of runs) {
    if (at < until || isEscaped(line, at)) continue;
    const same = byLength.get(length) ?? [];
    while ((same.at(-1)?.at ?? Number.POSITIVE_INFINITY) <= at) same.pop();
    const close = same.at(-1);
    if (!close) continue;
    until = close.at + length;
    spans.push([at, until]);
  }
  return spans;
}

/** Whether an odd number of backslashes precedes a position. */
export function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
