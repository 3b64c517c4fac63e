import { matchingBrackets } from "./brackets.ts";
import { Definitions, isWordy } from "./definitions.ts";
import type { HtmlFilter } from "./html-filter.ts";
import { labelAt, linkTailAt } from "./link-target.ts";
import { SeenReferences } from "./seen-references.ts";
import type { VisibleText } from "./visible-text.ts";

/** Removes titles of links, descriptions of images, labels, and definitions that no reader sees. Pass the positions in order. */
export class LinkFilter {
  readonly #out: VisibleText;
  readonly #html: HtmlFilter;
  readonly #definitions: Definitions;
  readonly #brackets: Int32Array | null;
  /** Start of the last paragraph. */
  readonly #lastParagraph: number;
  readonly references: SeenReferences;

  constructor(out: VisibleText, html: HtmlFilter, referred: ReadonlySet<string> | null) {
    const { text, isCut } = out;
    this.#out = out;
    this.#html = html;
    this.#definitions = new Definitions(text, isCut, referred);
    this.references = new SeenReferences(out, html);
    this.#brackets = text.includes("![") ? matchingBrackets(text) : null;
    this.#lastParagraph = text.lastIndexOf("\n\n");
  }

  /** Keys of the definitions that are shown because the text refers to them. */
  get keptDefinitions(): ReadonlySet<string> {
    return this.#definitions.kept;
  }

  /** Removes the definition that begins at `at`; `null` if none does, or all of it is seen. */
  definition(at: number): number | null {
    const definition = this.#definitions.at(at);
    if (definition === null) return null;
    if (definition === "open") return this.#out.stop(at);
    if (this.#definitions.isUnseen(definition)) return this.#html.remove(at, definition.end);
    this.references.skipTo(definition.end);
    return definition.title && this.#html.remove(definition.title.from, definition.title.to);
  }

  image(at: number): number {
    const close = this.#brackets?.[at + 1] ?? 0;
    if (close === 0 && this.#out.isCut && at > this.#lastParagraph) return this.#out.stop(at);
    const next = this.#out.text[close + 1];
    if (close === 0) return at + 2;
    if (next === "[" && labelAt(this.#out.text, close + 1) === null) return at + 2;
    if (next !== "(" && next !== "[") {
      const label = this.#out.text.slice(at + 2, close);
      this.references.note(at, label);
      const address = this.#definitions.addressOf(label);
      if (address === undefined && !(this.#out.isCut && isWordy(label))) return at + 2;
      return this.#html.remove(at, close + 1, address === undefined ? "![]" : `![](${address})`);
    }
    if (next === "(" && linkTailAt(this.#out.text, close, this.#out.isCut) === null) return at + 2;
    if (close === at + 2) return close;
    this.#out.replace(at, at + 2, "![");
    return this.#html.remove(at + 2, close);
  }

  /** Removes the title from `](address "title")`. */
  link(at: number): number {
    const tail = linkTailAt(this.#out.text, at, this.#out.isCut);
    if (tail === "open") return this.#out.stop(at + 1);
    return tail?.title ? this.#html.remove(tail.title.from, tail.title.to) : at + 1;
  }

  /** The label of `[text][label]`, which readers do not see. */
  reference(at: number): number {
    const found = labelAt(this.#out.text, at);
    if (found === null || found === "open") return this.#out.isCut && found === "open" ? this.#out.stop(at) : at;
    const { label, end } = found;
    this.references.note(at, label);
    const address = this.#definitions.addressOf(label);
    if (address === undefined && !(this.#out.isCut && label !== "" && isWordy(label))) return at;
    return this.#html.remove(at, end, address === undefined ? "" : `(${address})`);
  }

  /** A link whose text is its label: its definition is removed, so it gets the address. */
  label(at: number, end: number): number {
    const { text, isCut } = this.#out;
    const found = labelAt(text, at);
    if (found === null || found === "open") return at + 1;
    const next = text[found.end];
    const hasOther = next === "[" && text[found.end + 1] !== "]";
    const isLink = next === "(" && linkTailAt(text, found.end - 1, isCut) !== null;
    if (next !== ":" && !hasOther && !isLink) this.references.note(at, found.label);
    if (found.end > end || next === "(" || hasOther) return at + 1;
    const address = this.#definitions.addressOf(found.label);
    if (address === undefined) return at + 1;
    return this.#out.replace(found.end, next === "[" ? found.end + 2 : found.end, `(${address})`);
  }
}
