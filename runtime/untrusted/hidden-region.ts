import { voidElements } from "./html-tag.ts";

const words = (list: string) => new Set(list.split(" "));
/** In the list of open elements, a paragraph of Markdown. The names of tags are in lower case, so none is equal. */
const paragraph = "Paragraph";
/** Elements that no end tag of an inline element closes. */
const blocks = words(
  `address applet article aside blockquote button caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup li main marquee menu nav object ol p pre section summary table tbody td template tfoot th thead tr ul ${paragraph}`,
);
/** Of those, the ones whose tag does not surely end a hidden paragraph. */
const inParagraphs = words("applet button caption object marquee p table tbody td template tfoot th thead tr");
/** Elements that no end tag inside of them closes. */
const scopes = words("applet button caption marquee object table td template th");
/** Elements that browsers open again after an element or a paragraph in which they were open. */
const formatting = words("a b big code em font i nobr s small strike strong tt u");
/** Elements that also end the formatting that began in them. */
const formattingScopes = words("applet caption marquee object td template th");
/** Elements whose content is not read as markup. */
const rawTexts = words("script style title iframe noembed noframes textarea xmp");

/** Whether a tag of this element ends a paragraph. */
export const isBlock = (name: string): boolean => blocks.has(name);

/** With more open elements, it reaches to the end of the text. */
const maxDepth = 200;

/** A hidden element, from its tag to the end of its content: the elements that are open in it. */
export class HiddenRegion {
  readonly from: number;
  /** It ends here or later. */
  readonly minEnd: number;
  /** Its content is hidden, but the element itself is shown: its end tag remains. */
  readonly keepsEnd: boolean;
  readonly #open: string[];
  /** Hidden elements that browsers open again: one stays hidden after the end of its region, until its own end. */
  readonly #hiddenFormatting = new Set<string>();
  /** Whether it begins in a paragraph of Markdown, so that a block of HTML cannot continue it. */
  readonly isInParagraph: boolean;
  #reachesToEnd = false;

  constructor(name: string, from: number, { keepsEnd = false, isInParagraph = false, minEnd = from } = {}) {
    this.from = from;
    this.minEnd = minEnd;
    this.keepsEnd = keepsEnd;
    this.#open = [name];
    this.isInParagraph = isInParagraph;
  }

  /** The only end tag that has a meaning now; `null`: all have. */
  get rawText(): string | null {
    const name = this.#open.at(-1) ?? "";
    return rawTexts.has(name) ? name : null;
  }

  /** Whether it ends with the paragraph that it is in. */
  get endsWithParagraph(): boolean {
    const [name = ""] = this.#open;
    const isClosed = name === "p" || (this.isInParagraph && !blocks.has(name) && !formatting.has(name));
    return (
      isClosed &&
      !this.#reachesToEnd &&
      this.rawText === null &&
      this.#open.every((one) => (one === "p" || !blocks.has(one)) && !this.#hiddenFormatting.has(one))
    );
  }

  /** A paragraph of Markdown begins in it. As a block, it keeps inline elements open. Those that are formatting end with it. */
  beginParagraph(): void {
    const [first = ""] = this.#open;
    if (!formatting.has(first) && this.rawText === null && this.#open.length < maxDepth) this.#open.push(paragraph);
  }

  endParagraph(): void {
    const at = this.#open.lastIndexOf(paragraph);
    if (at > 0) this.#open.splice(at, 1);
  }

  /** Its end cannot be found, so it reaches to the end of the text. */
  reachToEnd(): void {
    this.#reachesToEnd = true;
  }

  /** Whether it is a paragraph that the tag of this element ends. */
  endsBefore(name: string): boolean {
    const [first = ""] = this.#open;
    const isEnd = first === "p" && blocks.has(name) && !inParagraphs.has(name) && !this.#reachesToEnd && this.rawText === null;
    return isEnd && !this.#open.some((one) => scopes.has(one) || this.#hiddenFormatting.has(one));
  }

  begin(name: string, isHidden: boolean): void {
    if (voidElements.has(name)) return;
    if (isHidden && formatting.has(name)) this.#hiddenFormatting.add(name);
    if (this.#open.length < maxDepth) this.#open.push(name);
    else this.reachToEnd();
  }

  /** Whether this end tag ends it. */
  end(name: string): boolean {
    const last = this.#reachesToEnd ? -1 : this.#open.lastIndexOf(name);
    if (last < 0) return false;
    // As in browsers, a block that is open inside keeps an inline element open.
    const barriers = blocks.has(name) ? scopes : blocks;
    if (!scopes.has(name) && this.#open.slice(last + 1).some((one) => barriers.has(one))) return false;
    const reopened = formattingScopes.has(name) ? [] : this.#open.slice(last + 1).filter((one) => formatting.has(one));
    this.#open.length = last;
    if (last > 0 || reopened.some((one) => this.#hiddenFormatting.has(one))) this.#open.push(...reopened);
    return this.#open.length === 0;
  }
}
