/** An open code fence: its character, its length, and the block that contains it. */
interface Fence {
  readonly sign: string;
  readonly length: number;
  readonly quoteDepth: number;
  readonly indent: number;
}

interface Line {
  readonly quoteDepth: number;
  /** Columns of spaces after the quotation marks. */
  readonly indent: number;
  /** Position of the first character after them. */
  readonly at: number;
  readonly isBlank: boolean;
}

/**
 * Determines which lines of a Markdown text are fenced code, in linear time. Pass the lines in order. If the platforms disagree,
 * a line is not code: for example, if its fence is never closed or is inside HTML.
 */
export class CodeLines {
  readonly #text: string;
  readonly #closers: readonly { readonly at: number; readonly sign: string; readonly longestFrom: number }[];
  #nextCloser = 0;
  #fence: Fence | null = null;
  /** Indentation of the content of the current list item, in columns. */
  #listIndent = 0;
  readonly #isCut: boolean;
  /**
   * Whether a cut text ends inside a fence in a quotation or list that is not closed yet, so that the missing rest decides
   * whether its last lines are code.
   */
  isUncertain = false;

  /** `isCut`: the text is the beginning of a longer one. */
  constructor(text: string, isCut = false) {
    this.#text = text;
    this.#closers = closersOf(text);
    this.#isCut = isCut;
  }

  /** Whether the line from `start` to `end` is code or one of its fences. */
  isCode(start: number, end: number): boolean {
    if (this.#closers.length === 0 && !this.#isCut) return false;
    const line = this.#read(start, end);
    if (this.#fence && this.#stays(line, this.#fence)) {
      if (this.#closes(line, end, this.#fence)) this.#fence = null;
      return true;
    }
    this.#fence = this.#opens(line, end);
    return this.#fence !== null;
  }

  #read(start: number, end: number): Line {
    const text = this.#text;
    let [at, quoteDepth, indent] = [start, 0, 0];
    for (; at < end; at++) {
      const sign = text[at];
      if (sign === ">" && indent <= 3 && quoteDepth < 32) [quoteDepth, indent] = [quoteDepth + 1, 0];
      else if (sign === " ") indent++;
      else if (sign === "\t") indent += 4 - (indent % 4);
      else break;
    }
    return { quoteDepth, indent, at, isBlank: at >= end };
  }

  #stays(line: Line, fence: Fence): boolean {
    if (line.quoteDepth < fence.quoteDepth) return false;
    return line.isBlank || line.indent >= fence.indent;
  }

  #closes({ at, indent }: Line, end: number, { sign, length, indent: outer }: Fence): boolean {
    const run = runOf(this.#text, at, sign);
    return run >= length && indent <= outer + 3 && this.#text.slice(at + run, end).trim() === "";
  }

  #opens(line: Line, end: number): Fence | null {
    if (line.isBlank) return null;
    const marker = markerAt(this.#text, line.at, end);
    if (marker > 0 && line.indent <= this.#listIndent + 3) this.#listIndent = line.indent + marker;
    else if (line.indent < this.#listIndent) this.#listIndent = 0;
    const at = line.at + marker;
    const sign = this.#text[at] ?? "";
    if ((sign !== "`" && sign !== "~") || (marker === 0 && line.indent > this.#listIndent + 3)) return null;
    const length = runOf(this.#text, at, sign);
    if (length < 3 || (sign === "`" && this.#text.slice(at + length, end).includes("`"))) return null;
    if (!this.#hasCloser(sign, length, end)) {
      this.isUncertain ||= this.#isCut && (line.quoteDepth > 0 || this.#listIndent > 0);
      return null;
    }
    return { sign, length, quoteDepth: line.quoteDepth, indent: this.#listIndent };
  }

  #hasCloser(sign: string, length: number, after: number): boolean {
    while ((this.#closers[this.#nextCloser]?.at ?? Number.POSITIVE_INFINITY) < after) this.#nextCloser++;
    for (let n = this.#nextCloser; n < this.#closers.length; n++) {
      const closer = this.#closers[n];
      if (closer?.sign === sign) return closer.longestFrom >= length;
    }
    return false;
  }
}

/** The lines that can close a fence, each with the longest run of its character from that line to the end. */
function closersOf(text: string) {
  if (!text.includes("```") && !text.includes("~~~")) return [];
  const fences = [...text.matchAll(/^[ \t>]*(`{3,}|~{3,})[ \t]*\r?$/gm)].map((match) => ({
    at: match.index,
    sign: match[1]?.[0] ?? "",
    length: match[1]?.length ?? 0,
  }));
  const longest: Record<string, number> = {};
  const withLongest = fences.reverse().map(({ at, sign, length }) => {
    longest[sign] = Math.max(longest[sign] ?? 0, length);
    return { at, sign, longestFrom: longest[sign] };
  });
  return withLongest.reverse();
}

export function runOf(text: string, from: number, sign: string): number {
  let at = from;
  while (text[at] === sign) at++;
  return at - from;
}

/** Length of a list marker including the spaces after it; 0 if there is none. */
function markerAt(text: string, at: number, end: number): number {
  let next = at;
  while (next < at + 9 && isDigit(text.charCodeAt(next))) next++;
  const sign = text[next] ?? "";
  if (next > at ? sign !== "." && sign !== ")" : sign !== "-" && sign !== "*" && sign !== "+") return 0;
  const blanks = runOf(text, next + 1, " ");
  if (blanks === 0 || blanks > 4 || next + 1 + blanks >= end) return 0;
  return next + 1 + blanks - at;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
