import { BlockStarts } from "./block-starts.ts";
import { CodeLines } from "./code-lines.ts";
import { CodeSpans } from "./code-spans.ts";

/**
 * Maximum number of backticks or tildes. A text with more is treated as prose only, because finding its code would take too long.
 */
const maxCodeMarks = 40_000;

/** Placeholder for code while the prose around it is rewritten. It is a noncharacter, which no text may contain. */
const placeholder = "\uffff";

/**
 * Rewrites the prose of a Markdown text, and leaves code blocks and code spans unchanged. Text that platforms may read
 * differently does not count as code: a fence that is not closed, a span over several lines, backticks in HTML or in a link. All prose is
 * rewritten in one call, because a text can contain code every few characters. If the rewritten prose has lost a piece of
 * code, for example in an attribute of an element, the whole text is rewritten as prose.
 */
export function rewriteProse(markdown: string, rewrite: (prose: string) => string): string {
  if (
    (!markdown.includes("`") && !markdown.includes("~~~")) ||
    hasMore(markdown, "`", maxCodeMarks) ||
    hasMore(markdown, "~", maxCodeMarks)
  )
    return rewrite(markdown);
  const text = markdown.replaceAll(placeholder, "\ufffd");
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

/** A line that ends HTML and paragraphs. One with a no-break space does not. */
const blankLine = /^[ \t]*$/;
/** The first line of HTML, also in a quotation, a list, a definition or a footnote. */
const htmlBlock = /^(?:[ \t>:]|[-*+][ \t]|\d{1,9}[.)][ \t]|\[\^[^\]]{1,1000}\]:)*<[A-Za-z/!?]/;

/** The start and end positions of the code in a text. */
function codeOf(text: string): [number, number][] {
  const lines = new CodeLines(text);
  const spans = new CodeSpans(text);
  const ranges: [number, number][] = [];
  const blocks = new BlockStarts();
  let inHtml = false;
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf("\n", start);
    const lineEnd = next < 0 ? text.length : next;
    const end = text[lineEnd - 1] === "\r" ? lineEnd - 1 : lineEnd;
    const line = text.slice(start, end);
    const beginsBlock = blocks.begins(line);
    if (blankLine.test(line)) {
      inHtml = spans.isRaw;
      spans.endParagraph();
    } else if (beginsBlock) spans.endParagraph();
    const isCode: boolean = !inHtml && lines.isCode(start, end);
    // A line of a fence begins no HTML.
    inHtml ||= !isCode && htmlBlock.test(line);
    if (isCode) ranges.push([start, end]);
    else for (const [first, last] of spans.of(line, start, inHtml)) ranges.push([start + first, start + last]);
    start = lineEnd + 1;
  }
  return ranges;
}
