import { runOf } from "../platform/markdown/code-lines.ts";
import { endOfParagraph } from "./brackets.ts";
import { CodeSpanEnds } from "./code-span.ts";
import { keyOf } from "./definitions.ts";
import type { HtmlFilter } from "./html-filter.ts";
import { IndentedCode } from "./indented-code.ts";
import type { VisibleText } from "./visible-text.ts";

/**
 * Collects the labels that a text refers to where readers see a link: not in code, HTML, hidden elements or definitions. In doubt,
 * they see none. Pass the positions in order.
 */
export class SeenReferences {
  readonly keys = new Set<string>();
  readonly #out: VisibleText;
  readonly #html: HtmlFilter;
  readonly #spans: CodeSpanEnds;
  #paragraphEnd = -1;
  /** End of the code span or the definition that was read last. */
  #skippedTo = 0;
  readonly #indented = new IndentedCode();
  #isInCode = false;

  constructor(out: VisibleText, html: HtmlFilter) {
    this.#out = out;
    this.#html = html;
    this.#spans = new CodeSpanEnds(out.text);
  }

  beginLine(line: string, isBlank: boolean): void {
    this.#isInCode = this.#indented.isCode(line, isBlank);
  }

  /** Reads the code span that may begin at the backticks at `at`. It may end in a later line. */
  beginCode(at: number): void {
    if (at < this.#skippedTo) return;
    if (this.#paragraphEnd < at) this.#paragraphEnd = endOfParagraph(this.#out.text, at);
    const end = this.#spans.of(at, this.#paragraphEnd);
    if (end > at + runOf(this.#out.text, at, "`")) this.skipTo(end);
  }

  /** Nothing before `end` is a reference. */
  skipTo(end: number): void {
    this.#skippedTo = Math.max(this.#skippedTo, end);
  }

  note(at: number, label: string): void {
    const isSeen = at >= this.#skippedTo && !this.#isInCode && !this.#html.mayBeInHtml && this.#out.hidden === null;
    if (isSeen) this.keys.add(keyOf(label));
  }
}
