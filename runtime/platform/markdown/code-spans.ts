import { runOf } from "./code-lines.ts";

/** What decides whether the backticks after it are code: what it is, and how it ends in its plain form. */
const constructs: readonly { readonly begins: RegExp; readonly plainForm: RegExp }[] = [
  // An element with plain attributes, an address in angle brackets, a comment.
  {
    begins: /^<[A-Za-z/!?]/,
    plainForm: /(?:<\/?[A-Za-z][A-Za-z0-9-]*(?:\s+[\w-]+="[^"<>`]*")*\s*\/?>|<[A-Za-z][\w+.-]*:[^\s<>`]*>|<!--[^`]*?-->)/y,
  },
  // The address and title of a link, the name of its definition, a footnote.
  {
    begins: /^\]\(/,
    plainForm: /\]\([ \t]*(?:<[^<>`\\]*>|[^\s()<>`\\]*)(?:[ \t]+(?:"[^"`\\]*"|'[^'`\\]*'))?[ \t]*\)/y,
  },
  { begins: /^(?:\]\[|\[\^)/, plainForm: /[[\]]{1,2}\^?[^\][`\\]*\]/y },
  // An address that platforms make a link.
  { begins: /^(?:h|f|w)/i, plainForm: /[^\s<`]*(?![^\s<])/y },
  // A formula, see below.
  { begins: /^\$/, plainForm: /\$/y },
];
const tokens = /`+|<[A-Za-z/!?]|\]\(|\]\[|\[\^|\$|https?:\/\/|ftp:\/\/|www\./gi;
/** Elements whose content platforms do not read as Markdown, also after an empty line; a comment is another. */
const rawHtml = /<(?:!(?!--)|\?|\/?(?:pre|script|style|textarea)\b)/i;
/** A line that can make a table of the lines around it. */
const tableRule = /^[ \t>*+\d.)]*[|:-][|:\- \t>]*$/m;

/** Labels of definitions. Some platforms find a reference to one before they find code, also if the label has a backtick. */
const labels = /(?<!\\)\[((?:\\[\s\S]|[^\][\\])*)\]:/g;
const pairs = /^[^`]*(?:`[^`]+`[^`]*)*$/;

/** A blank line; the end of a text is another. */
const blankLine = /\n[ \t]*\r?(?=\n|$)/g;

/**
 * Finds the code spans of a text, line by line. Platforms read a text from left to right, and a backtick inside a link, an element
 * or another span begins no code. So from the first backtick that can be read in two ways, a paragraph has no code spans. An
 * escaped backtick is read in one way, and so are backticks without as many others after them.
 */
export class CodeSpans {
  readonly #text: string;
  readonly #hasTable: boolean;
  readonly #hasOddLabel: boolean;
  #isAmbiguous = false;
  /** The last run of backticks of each length, by its position, before the next blank line. */
  #last: ReadonlyMap<number, number> | null = null;
  #paragraphEnd = 0;
  /** Whether the rest of the text may be the content of an element. */
  isRaw = false;

  constructor(text: string) {
    this.#text = text;
    this.#hasTable = tableRule.test(text);
    this.#hasOddLabel = text.includes("]:") && text.matchAll(labels).some(([, label = ""]) => !pairs.test(label));
  }

  endParagraph(): void {
    this.#isAmbiguous = false;
  }

  /** The start and end positions of the code spans of the next line of the paragraph, which begins at `start`. */
  of(line: string, start: number, isHtml = false): [number, number][] {
    const spans = isHtml || this.#isAmbiguous || this.isRaw || this.#hasOddLabel ? [] : this.#unambiguous(line, start);
    // An element that is named in code begins nothing.
    const rest = withoutSpans(line, spans);
    if (rest.includes("<")) this.isRaw ||= rawHtml.test(rest) || rest.lastIndexOf("<!--") > rest.lastIndexOf("-->");
    return this.isRaw ? [] : spans;
  }

  #unambiguous(line: string, start: number): [number, number][] {
    const spans: [number, number][] = [];
    const runs = new Runs(line);
    /** Where a formula can end at the latest. */
    const formulaEnd = line.includes("$") ? line.search(/\S\$[^$]*$/) : -1;
    let isInFormula = false;
    tokens.lastIndex = 0;
    for (let found = tokens.exec(line); found; found = tokens.exec(line)) {
      const { index: at, 0: token } = found;
      isInFormula ||= token === "$" && /\S/.test(line[at + 1] ?? " ");
      const isBacktick = token[0] === "`";
      const isText = isBacktick && this.#isText(line, at, token.length, start, runs);
      const end = isText
        ? at + token.length
        : isBacktick
          ? this.#endOfSpan(line, at, token.length, runs)
          : this.#endOf(line, at, token);
      this.#isAmbiguous = end === null || (isBacktick && isInFormula && at < formulaEnd);
      if (end === null || this.#isAmbiguous) break;
      if (isBacktick && !isText) spans.push([at, end]);
      tokens.lastIndex = end;
    }
    return spans;
  }

  /** Whether backticks are text: one that is escaped, or those that nothing can close. */
  #isText(line: string, at: number, length: number, start: number, runs: Runs): boolean {
    if (isEscaped(line, at)) return length === 1;
    return runs.after(at, length) === undefined && this.#isLast(start + at, length);
  }

  /** Whether no run of this length follows before the next blank line, so in the same paragraph. */
  #isLast(at: number, length: number): boolean {
    const text = this.#text;
    if (at >= this.#paragraphEnd) {
      blankLine.lastIndex = at;
      this.#paragraphEnd = blankLine.exec(text)?.index ?? text.length;
      this.#last = null;
    }
    const next = text.indexOf("`", at + length);
    if (next < 0 || next >= this.#paragraphEnd) return true;
    this.#last ??= lastRuns(text, next, this.#paragraphEnd);
    return (this.#last.get(length) ?? at) <= at;
  }

  #endOfSpan(line: string, at: number, length: number, runs: Runs): number | null {
    const close = runs.after(at, length);
    // An escape before several backticks, or a span that ends in another line.
    if (isEscaped(line, at) || close === undefined) return null;
    const splits = this.#hasTable && /(?<!\\)\|/.test(line.slice(at, close));
    return splits ? null : close + length;
  }

  #endOf(line: string, at: number, token: string): number | null {
    const plain = constructs.find(({ begins }) => begins.test(token))?.plainForm;
    if (!plain) return null;
    plain.lastIndex = at;
    return plain.test(line) ? Math.max(plain.lastIndex, at + 1) : null;
  }
}

function withoutSpans(line: string, spans: readonly (readonly [number, number])[]): string {
  if (spans.length === 0) return line;
  let rest = "";
  let from = 0;
  for (const [start, end] of spans) {
    rest += `${line.slice(from, start)} `;
    from = end;
  }
  return rest + line.slice(from);
}

/** The runs of backticks of a line. */
class Runs {
  readonly #line: string;
  readonly #last: number;
  /** Positions of the runs of each length, the last one first. Those before the position of a call are removed. */
  #starts: ReadonlyMap<number, number[]> | null = null;

  constructor(line: string) {
    this.#line = line;
    this.#last = line.lastIndexOf("`");
  }

  /** Position of the next run of this length after the one at `at`. Call it from left to right. */
  after(at: number, length: number): number | undefined {
    // Most lines have no further run.
    if (at + length > this.#last) return undefined;
    this.#starts ??= this.#find();
    const same = this.#starts.get(length) ?? [];
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= at) same.pop();
    return same.at(-1);
  }

  #find(): ReadonlyMap<number, number[]> {
    const starts = new Map<number, number[]>();
    for (let last = this.#last; last >= 0; ) {
      let first = last;
      while (this.#line[first - 1] === "`") first--;
      const length = last - first + 1;
      const same = starts.get(length);
      if (same) same.push(first);
      else starts.set(length, [first]);
      last = first === 0 ? -1 : this.#line.lastIndexOf("`", first - 1);
    }
    return starts;
  }
}

/** The position of the last run of backticks of each length from `start` to `end`. */
function lastRuns(text: string, start: number, end: number): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  for (let at = start; at >= 0 && at < end; ) {
    const length = runOf(text, at, "`");
    last.set(length, at);
    at = text.indexOf("`", at + length);
  }
  return last;
}

/** Whether an odd number of backslashes precedes a position. */
export function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
