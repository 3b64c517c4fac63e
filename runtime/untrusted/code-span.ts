import { runOf } from "../platform/markdown/code-lines.ts";

/** Finds the ends of code spans that end in the line that they begin in. Pass the positions in order. */
export class CodeSpanEnds {
  readonly #text: string;
  /** For each length, the start of the last run of backticks in the line that ends at `#lineEnd`. */
  #last = new Map<number, number>();
  #lineEnd = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Position after the code span that begins at `at`, or if there is none, after its backticks. */
  of(at: number, lineEnd: number): number {
    const length = runOf(this.#text, at, "`");
    if (this.#lineEnd !== lineEnd) this.#readLine(at, lineEnd);
    // Otherwise the rest of a line would be searched once for each length that it contains.
    if ((this.#last.get(length) ?? at) <= at) return at + length;
    for (let next = at + length; next < lineEnd; ) {
      next = this.#text.indexOf("`", next);
      if (next < 0 || next >= lineEnd) break;
      const run = runOf(this.#text, next, "`");
      if (run === length) return next + run;
      next += run;
    }
    return at + length;
  }

  #readLine(from: number, lineEnd: number): void {
    this.#lineEnd = lineEnd;
    this.#last = new Map();
    for (let at = from; at >= 0 && at < lineEnd; ) {
      const length = runOf(this.#text, at, "`");
      this.#last.set(length, at);
      at = this.#text.indexOf("`", at + length);
    }
  }
}
