import { runOf } from "../platform/markdown/code-lines.ts";

/** Finds the ends of code spans that end in the line, or the paragraph, that they begin in. Pass the positions in order. */
export class CodeSpanEnds {
  readonly #text: string;
  /** For each length, the start of the last run of backticks in the part that ends at `#end`. */
  #last = new Map<number, number>();
  #end = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Position after the code span that begins at `at`, or if there is none, after its backticks. */
  of(at: number, end: number): number {
    const length = runOf(this.#text, at, "`");
    if (this.#end !== end) this.#read(at, end);
    // Otherwise the rest of a line would be searched once for each length that it contains.
    if ((this.#last.get(length) ?? at) <= at) return at + length;
    for (let next = at + length; next < end; ) {
      next = this.#text.indexOf("`", next);
      if (next < 0 || next >= end) break;
      const run = runOf(this.#text, next, "`");
      if (run === length) return next + run;
      next += run;
    }
    return at + length;
  }

  #read(from: number, end: number): void {
    this.#end = end;
    this.#last = new Map();
    for (let at = from; at >= 0 && at < end; ) {
      const length = runOf(this.#text, at, "`");
      this.#last.set(length, at);
      at = this.#text.indexOf("`", at + length);
    }
  }
}
