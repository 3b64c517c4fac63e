import { BlockStarts } from "./block-starts.ts";

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
 * Determines which lines of a Markdown text are fenced code, in linear time. Pass the lines in order. If the platforms or the two
 * readings disagree, a line is not code: for example, if its fence is never closed or is inside HTML.
 */
export class CodeLines {
  readonly #readings: readonly LineReading[];

  /** `isCut`: the text is the beginning of a longer one. */
  constructor(text: string, isCut = false) {
    const hasFence = text.includes("```") || text.includes("~~~");
    this.#readings = hasFence ? [true, false].map((anyMarker) => new LineReading(text, isCut, anyMarker)) : [];
  }

  /**
   * Whether a cut text ends inside a fence in a quotation or list that is not closed yet, so that the missing rest decides
   * whether its last lines are code.
   */
  get isUncertain(): boolean {
    return this.#readings.some(({ isUncertain }) => isUncertain);
  }

  /** Whether the last line may be the first fence of a code block. */
  get isOpening(): boolean {
    return this.#readings.some(({ isOpening }) => isOpening);
  }

  /** Whether the line from `start` to `end` is code or one of its fences. */
  isCode(start: number, end: number): boolean {
    // Each reading must see each line.
    return this.#readings.length > 0 && this.#readings.map((reading) => reading.isCode(start, end)).every(Boolean);
  }
}

/**
 * One reading of the lines. `anyMarker`: each marker begins a list item. Otherwise, an empty one does not, and one with another
 * number than 1 only where no paragraph can continue.
 */
class LineReading {
  readonly #text: string;
  /** By their character, the last one first. Those before the current line are removed. */
  readonly #closers: ReadonlyMap<string, Closer[]>;
  /** No line after it opens a fence. */
  readonly #lastFence: number;
  #fence: Fence | null = null;
  /** Indentation of the content of the current list item, in columns. */
  #listIndent = 0;
  readonly #isCut: boolean;
  readonly #anyMarker: boolean;
  readonly #blocks = new BlockStarts();
  #isAfterBlank = true;
  isUncertain = false;
  isOpening = false;

  constructor(text: string, isCut: boolean, anyMarker: boolean) {
    this.#text = text;
    this.#closers = closersOf(text);
    this.#lastFence = Math.max(text.lastIndexOf("```"), text.lastIndexOf("~~~"));
    this.#isCut = isCut;
    this.#anyMarker = anyMarker;
  }

  isCode(start: number, end: number): boolean {
    if (this.#closers.size === 0 && !this.#isCut) return false;
    this.isOpening = false;
    if (this.#fence === null && start > this.#lastFence) return false;
    const line = this.#read(start, end);
    const beginsBlock = this.#blocks.begins(this.#text.slice(start, end)) || this.#isAfterBlank;
    this.#isAfterBlank = line.isBlank;
    if (this.#fence && this.#stays(line, this.#fence)) {
      if (this.#closes(line, end, this.#fence)) this.#fence = null;
      return true;
    }
    this.#fence = this.#opens(line, end, beginsBlock);
    this.isOpening = this.#fence !== null;
    return this.isOpening;
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
    return run >= length && indent <= outer + 3 && /^[ \t]*$/.test(this.#text.slice(at + run, end));
  }

  #opens(line: Line, end: number, beginsBlock: boolean): Fence | null {
    if (line.isBlank) return null;
    const isText =
      !this.#anyMarker &&
      !beginsBlock &&
      isDigit(this.#text.charCodeAt(line.at)) &&
      Number.parseInt(this.#text.slice(line.at, line.at + 9), 10) !== 1;
    const marker = isText ? 0 : markerAt(this.#text, line.at, end, this.#anyMarker);
    if (marker > 0 && line.indent <= this.#listIndent + 3) this.#listIndent = line.indent + marker;
    else if (line.indent < this.#listIndent) this.#listIndent = 0;
    const at = line.at + marker;
    if (at >= end) return null;
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
    const same = this.#closers.get(sign) ?? [];
    while ((same.at(-1)?.at ?? Number.POSITIVE_INFINITY) < after) same.pop();
    return (same.at(-1)?.longestFrom ?? 0) >= length;
  }
}

/** A line that can close a fence, and the longest run of its character from there to the end. */
interface Closer {
  readonly at: number;
  readonly longestFrom: number;
}

function closersOf(text: string): Map<string, Closer[]> {
  const closers = new Map<string, Closer[]>();
  if (!text.includes("```") && !text.includes("~~~")) return closers;
  for (const { index: at, 1: run = "" } of [...text.matchAll(/^[ \t>]*(`{3,}|~{3,})[ \t]*\r?$/gm)].reverse()) {
    const sign = run[0] ?? "";
    const same = closers.get(sign) ?? [];
    same.push({ at, longestFrom: Math.max(same.at(-1)?.longestFrom ?? 0, run.length) });
    closers.set(sign, same);
  }
  return closers;
}

/** Position of the end of the line that contains `from`. */
export function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

export function runOf(text: string, from: number, sign: string): number {
  let at = from;
  while (text[at] === sign) at++;
  return at - from;
}

/** Length of a list marker including the spaces after it, or the one after an empty item; 0 if there is none. */
function markerAt(text: string, at: number, end: number, mayBeEmpty: boolean): number {
  let next = at;
  while (next < at + 9 && isDigit(text.charCodeAt(next))) next++;
  const sign = text[next] ?? "";
  if (next > at ? sign !== "." && sign !== ")" : sign !== "-" && sign !== "*" && sign !== "+") return 0;
  if (text.slice(next + 1, end).trim() === "") return mayBeEmpty ? next + 2 - at : 0;
  const blanks = runOf(text, next + 1, " ");
  if (blanks === 0 || blanks > 4 || next + 1 + blanks >= end) return 0;
  return next + 1 + blanks - at;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
