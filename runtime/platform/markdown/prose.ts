import { CodeLines } from "./code-lines.ts";

/**
 * Maximum number of backticks or tildes. A text with more is treated as prose only, because finding its code would take too long.
 */
const maxCodeMarks = 40_000;

/** Placeholder for code while the prose around it is rewritten. It is a noncharacter, which no text may contain. */
const placeholder = "\uffff";

/**
 * Rewrites the prose of a Markdown text, and leaves code blocks and code spans unchanged. Text that platforms may read
 * differently does not count as code: a fence that is not closed, a span over several lines, backticks in HTML. All prose is
 * rewritten in one call, because a text can contain code every few characters. If the rewritten prose has lost a piece of
 * code, for example in an attribute of an element, the whole text is rewritten as prose.
 */
export function rewriteProse(given: string, rewrite: (prose: string) => string): string {
  if ((!given.includes("`") && !given.includes("~~~")) || hasMore(given, "`", maxCodeMarks) || hasMore(given, "~", maxCodeMarks))
    return rewrite(given);
  const text = given.replaceAll(placeholder, "\ufffd");
  const code = codeOf(text);
  let prose = "";
  let from = 0;
  for (const [start, end] of code) {
    prose += text.slice(from, start) + placeholder;
    from = end;
  }
  const pieces = rewrite(prose + text.slice(from)).split(placeholder);
  if (pieces.length !== code.length + 1) return rewrite(text);
  return code.map(([start, end], n) => pieces[n] + text.slice(start, end)).join("") + pieces.at(-1);
}

/** Whether a sign occurs more often than a limit. */
export function hasMore(text: string, sign: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) if (++count > most) return true;
  return false;
}

/** The start and end positions of the code in a text. */
function codeOf(text: string): [number, number][] {
  const lines = new CodeLines(text);
  const found: [number, number][] = [];
  let inHtml = false;
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("\n", start);
    const lineEnd = next < 0 ? text.length : next;
    const end = text[lineEnd - 1] === "\r" ? lineEnd - 1 : lineEnd;
    const line = text.slice(start, end);
    if (line.trim() === "") inHtml = false;
    else if (/^[ \t>]{0,40}<[A-Za-z/!?]/.test(line)) inHtml = true;
    const isCode = !inHtml && lines.isCode(start, end);
    if (isCode) found.push([start, end]);
    else if (!inHtml) for (const [first, last] of codeSpans(line)) found.push([start + first, start + last]);
    start = lineEnd + 1;
  }
  return found;
}

/** The code spans of a line, except those that begin with an escaped backtick. */
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
