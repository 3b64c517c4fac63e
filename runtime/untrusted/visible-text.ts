import { endOfLine } from "../platform/markdown/code-lines.ts";
import type { HiddenRegion } from "./hidden-region.ts";

/** A text of which parts are removed from its beginning to its end. Nothing after `limit` is shown. */
export class VisibleText {
  readonly text: string;
  /** The text was cut here, so its rest is unknown. */
  readonly isCut: boolean;
  readonly limit: number;
  #out = "";
  #copied = 0;
  #hidden: HiddenRegion | null = null;
  #isStopped = false;

  constructor(text: string, isCut: boolean, limit = text.length) {
    this.text = text;
    this.isCut = isCut;
    this.limit = limit;
  }

  /** The hidden element that is open. Nothing is shown before it ends. */
  get hidden(): HiddenRegion | null {
    return this.#hidden;
  }

  get result(): string {
    return this.#out + this.text.slice(this.#copied, Math.min(this.limit, this.#hidden?.from ?? this.limit));
  }

  /** Returns the position after the replaced part. */
  replace(from: number, to: number, by = ""): number {
    if (this.#hidden || from >= this.limit) return to;
    this.#out += this.text.slice(this.#copied, from) + by;
    this.#copied = to;
    return to;
  }

  /** Whether markup that nothing ends hides what platforms show after the text: its footnotes. */
  get hidesFootnotes(): boolean {
    return !this.isCut && (this.#isStopped || this.#hidden?.endsWithParagraph === false);
  }

  /** Removes the rest of the text. */
  stop(at: number): number {
    this.#isStopped = true;
    return this.replace(at, this.text.length);
  }

  hide(region: HiddenRegion): void {
    this.#hidden ??= region;
  }

  /** Ends the hidden element. */
  show(to: number): number {
    const { from, minEnd } = this.#hidden ?? { from: to, minEnd: to };
    this.#hidden = null;
    return this.replace(from, Math.max(to, minEnd));
  }

  lineEnd(from: number): number {
    return endOfLine(this.text, from);
  }
}
