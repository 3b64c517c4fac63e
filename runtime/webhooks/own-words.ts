/**
 * The markup of a text. Only in what is known to be Markdown, an indented line is code. The other rules of Markdown also apply to
 * Jira's wiki markup and to unknown formats, because people use its signs everywhere.
 */
export type TextFormat = "markdown" | "html" | "wiki" | "unknown";

/** A pair of marks around code or a quotation, in HTML and in Jira's wiki markup. */
const elements = /<(\/?)(code|pre|samp|kbd|tt|blockquote)\b[^<>]*>/gi;
const macros = /\{()(code|noformat|quote)(:[^{}\n]*)?\}/gi;
/** Longer fences count as this long when their end is looked for. */
const longestFence = 1_000;
/** A line that begins with anything else is neither a fence, nor a quotation, nor an item of a list. */
const lineMark = /^\s*[-*+\d`~>]/;
const fenceStart = /^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)*(`{3,}(?=[^`]*$)|~{3,})/;
/** Also a quotation in a list. */
const quotedLine = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*>/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** Begins and ends GitLab's quotation over several lines. */
const quotationMark = /^>>>[ \t]*$/;

/**
 * A text without its code and its quotations: what its author says to its readers. Platforms notify no one who is named in code,
 * and a quotation repeats what was said before. Expects a text without hidden markup. Takes linear time.
 */
export function ownWords(given: string, format: TextFormat): string {
  if (!/[`~>{]|^(?: {4}|\t|[ \t]*bq\. )/m.test(given)) return given;
  const text = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
  if (format === "html") return withoutMarked(text, elements);
  const shown = format === "wiki" ? withoutWikiCode(text) : text;
  const lines = withoutMarked(withoutQuotations(shown.split("\n")).join("\n"), elements).split("\n");
  return withoutSpans(withoutCodeLines(lines, format === "markdown").join("\n"));
}

const withoutWikiCode = (text: string): string => withoutMarked(text, macros).replace(/\{\{[^{}\n]*\}\}|^[ \t]*bq\. .*$/gm, " ");

/** A mark without a second one begins no quotation. In code, it is the prompt of Python. */
function withoutQuotations(lines: readonly string[]): readonly string[] {
  const marks: number[] = [];
  let fence: string | null = null;
  for (const [n, line] of lines.entries()) {
    if (fence !== null) fence = isEndOf(fence, line) ? null : fence;
    else if (line.startsWith(">>>") && quotationMark.test(line)) marks.push(n);
    else fence = (lineMark.test(line) && fenceStart.exec(line)?.[1]) || null;
  }
  const quoted = new Uint8Array(lines.length);
  for (let n = 1; n < marks.length; n += 2) quoted.fill(1, marks[n - 1], (marks[n] ?? 0) + 1);
  return lines.filter((_, n) => quoted[n] === 0);
}

interface Open {
  readonly name: string;
  readonly from: number;
  depth: number;
}

function withoutMarked(text: string, marks: RegExp): string {
  const isElement = marks === elements;
  const lower = text.toLowerCase();
  const lastEnds = new Map<string, number>();
  const lastEndOf = (name: string, end: string) => {
    const known = lastEnds.get(name) ?? lower.lastIndexOf(end);
    lastEnds.set(name, known);
    return known;
  };
  let open: Open | null = null;
  let rest = "";
  let copied = 0;
  for (const { index, 0: mark, 1: slash, 2: written = "", 3: parameters } of text.matchAll(marks)) {
    // Text that explains an element: `<code>`.
    if (text[index - 1] === "`" && text[index + mark.length] === "`") continue;
    const name = written.toLowerCase();
    if (open === null) {
      const isEnded = lastEndOf(name, isElement ? `</${name}` : `{${name}}`) > index;
      if (!slash && isEnded) open = { name, from: index, depth: 1 };
    } else if (open.name === name) {
      if (isElement) open.depth += slash ? -1 : 1;
      else if (parameters === undefined) open.depth = 0;
      if (open.depth > 0) continue;
      rest += `${text.slice(copied, open.from)} `;
      copied = index + mark.length;
      open = null;
    }
  }
  return rest + text.slice(copied);
}

/**
 * In Markdown, a fence that is not closed contains the rest of the text, and lines may be indented code. In other texts, both are
 * ordinary text.
 */
function withoutCodeLines(lines: readonly string[], isMarkdown: boolean): string[] {
  const kept: string[] = [];
  const fenceEnds = isMarkdown ? null : new FenceEnds(lines);
  let fence: string | null = null;
  let isList = false;
  let mayIndent = isMarkdown;
  for (const [n, line] of lines.entries()) {
    const isBlank = line.trim() === "";
    if (fence !== null) {
      if (isEndOf(fence, line)) fence = null;
    } else if (isBlank) {
      kept.push("");
      mayIndent = isMarkdown;
    } else {
      const isMarked = lineMark.test(line);
      if (isMarked && quotedLine.test(line)) {
        kept.push("");
        continue;
      }
      fence = (isMarked && fenceStart.exec(line)?.[1]) || null;
      if (fence !== null && fenceEnds && !fenceEnds.isAfter(n, fence)) fence = null;
      isList = (isMarked && listItem.test(line)) || (isList && /^\s/.test(line));
      const isIndented: boolean = !isList && mayIndent && /^(?: {4}|\t)/.test(line);
      kept.push(fence !== null || isIndented ? "" : line);
      mayIndent = isIndented;
    }
  }
  return kept;
}

/** The last line that ends a fence of a mark, for each length of the fence. */
class FenceEnds {
  readonly #last: Readonly<Record<string, number[]>> = { "`": [], "~": [] };

  constructor(lines: readonly string[]) {
    for (const [n, line] of lines.entries()) {
      const mark = line.replace(/^[\s>]+/, "").trimEnd();
      const last = this.#last[mark.charAt(0)];
      if (last && /^(?:`{3,}|~{3,})$/.test(mark)) last[Math.min(mark.length, longestFence)] = n;
    }
    // A longer mark ends a shorter fence, too.
    for (const last of Object.values(this.#last))
      for (let length = last.length - 2; length >= 3; length--)
        last[length] = Math.max(last[length] ?? -1, last[length + 1] ?? -1);
  }

  isAfter(line: number, fence: string): boolean {
    return (this.#last[fence.charAt(0)]?.[Math.min(fence.length, longestFence)] ?? -1) > line;
  }
}

function isEndOf(fence: string, line: string): boolean {
  const mark = line.replace(/^[\s>]+/, "").trimEnd();
  return mark.length >= fence.length && mark === fence.charAt(0).repeat(mark.length);
}

/** Code spans end in the paragraph in which they begin. */
function withoutSpans(text: string): string {
  const paragraphs = text.split(/\n[ \t]*\n/);
  return paragraphs.map((paragraph) => (paragraph.includes("`") ? withoutSpansOf(paragraph) : paragraph)).join("\n\n");
}

function withoutSpansOf(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)].map(({ index, 0: run }) => ({ at: index, length: run.length }));
  /** For each length, the places of its runs in `runs`, the last one first. */
  const places = new Map<number, number[]>();
  for (let n = runs.length - 1; n >= 0; n--) {
    const length = runs[n]?.length ?? 0;
    const same = places.get(length);
    if (same) same.push(n);
    else places.set(length, [n]);
  }
  let rest = "";
  let copied = 0;
  for (let n = 0; n < runs.length; n++) {
    const { at, length } = runs[n] as (typeof runs)[number];
    const same = places.get(length) ?? [];
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= n) same.pop();
    const end = same.at(-1);
    if (end === undefined || (length === 1 && paragraph[at - 1] === "\\")) continue;
    rest += `${paragraph.slice(copied, at)} `;
    copied = (runs[end]?.at ?? 0) + length;
    n = end;
  }
  return rest + paragraph.slice(copied);
}
