/** What decides whether the backticks after it are code: what it is, and how it ends in its plain form. */
const constructs: readonly { readonly begins: RegExp; readonly plain: RegExp }[] = [
  // An element with plain attributes, an address in angle brackets, a comment.
  {
    begins: /^<[A-Za-z/!?]/,
    plain: /(?:<\/?[A-Za-z][A-Za-z0-9-]*(?:\s+[\w-]+="[^"<>`]*")*\s*\/?>|<[A-Za-z][\w+.-]*:[^\s<>`]*>|<!--[^`]*?-->)/y,
  },
  // The address and title of a link, the name of its definition, a footnote.
  {
    begins: /^\]\(/,
    plain: /\]\([ \t]*(?:<[^<>`\\]*>|[^\s()<>`\\]*)(?:[ \t]+(?:"[^"`\\]*"|'[^'`\\]*'))?[ \t]*\)/y,
  },
  { begins: /^(?:\]\[|\[\^)/, plain: /[[\]]{1,2}\^?[^\][`\\]*\]/y },
  // An address that platforms make a link.
  { begins: /^(?:h|f|w)/i, plain: /[^\s<`]*(?![^\s<])/y },
  // A formula, see below.
  { begins: /^\$/, plain: /\$/y },
];
const tokens = /`+|<[A-Za-z/!?]|\]\(|\]\[|\[\^|\$|https?:\/\/|ftp:\/\/|www\./gi;
/** Elements whose content platforms do not read as Markdown, also after an empty line; a comment is another. */
const raw = /<(?:!(?!--)|\?|\/?(?:pre|script|style|textarea)\b)/i;
/** A line that can make a table of the lines around it. */
const tableRule = /^[ \t>*+\d.)]*[|:-][|:\- \t>]*$/m;

/**
 * Finds the code spans of a text, line by line. Platforms read a text from left to right, and a backtick inside a link, an element
 * or another span begins no code. So from the first backtick that can be read in two ways, a paragraph has no code spans.
 */
export class CodeSpans {
  readonly #hasTable: boolean;
  #isAmbiguous = false;
  /** Whether the rest of the text may be the content of an element. */
  isRaw = false;

  constructor(text: string) {
    this.#hasTable = tableRule.test(text);
  }

  endParagraph(): void {
    this.#isAmbiguous = false;
  }

  /** The start and end positions of the code spans of the next line of the paragraph. `isHtml`: whether the line is HTML. */
  of(line: string, isHtml = false): [number, number][] {
    const spans = isHtml || this.#isAmbiguous || this.isRaw ? [] : this.#unambiguous(line);
    // An element that is named in code begins nothing.
    const rest = withoutSpans(line, spans);
    this.isRaw ||= raw.test(rest) || rest.lastIndexOf("<!--") > rest.lastIndexOf("-->");
    return this.isRaw ? [] : spans;
  }

  #unambiguous(line: string): [number, number][] {
    const spans: [number, number][] = [];
    const runs = closersOf(line);
    /** Where a formula can end at the latest. */
    const formulaEnd = line.search(/\S\$[^$]*$/);
    let isInFormula = false;
    tokens.lastIndex = 0;
    for (let found = tokens.exec(line); found; found = tokens.exec(line)) {
      const { index: at, 0: token } = found;
      isInFormula ||= token === "$" && /\S/.test(line[at + 1] ?? " ");
      const isBacktick = token[0] === "`";
      const end = isBacktick ? this.#endOfSpan(line, at, token.length, runs) : this.#endOf(line, at, token);
      this.#isAmbiguous = end === null || (isBacktick && isInFormula && at < formulaEnd);
      if (end === null || this.#isAmbiguous) break;
      if (isBacktick) spans.push([at, end]);
      tokens.lastIndex = end;
    }
    return spans;
  }

  #endOfSpan(line: string, at: number, length: number, runs: Map<number, number[]>): number | null {
    const same = runs.get(length) ?? [];
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= at) same.pop();
    const close = same.at(-1);
    // An escaped backtick, or a span that ends in another line.
    if (isEscaped(line, at) || close === undefined) return null;
    const splits = this.#hasTable && /(?<!\\)\|/.test(line.slice(at, close));
    return splits ? null : close + length;
  }

  #endOf(line: string, at: number, token: string): number | null {
    const plain = constructs.find(({ begins }) => begins.test(token))?.plain;
    if (!plain) return null;
    plain.lastIndex = at;
    return plain.test(line) ? Math.max(plain.lastIndex, at + 1) : null;
  }
}

function withoutSpans(line: string, spans: readonly (readonly [number, number])[]): string {
  let rest = "";
  let from = 0;
  for (const [start, end] of spans) {
    rest += `${line.slice(from, start)} `;
    from = end;
  }
  return rest + line.slice(from);
}

/** Positions of the runs of backticks of each length, the last one first. */
const closersOf = (line: string): Map<number, number[]> => {
  const closers = new Map<number, number[]>();
  for (const { index, 0: run } of [...line.matchAll(/`+/g)].reverse()) {
    const same = closers.get(run.length);
    if (same) same.push(index);
    else closers.set(run.length, [index]);
  }
  return closers;
};

/** Whether an odd number of backslashes precedes a position. */
export function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
