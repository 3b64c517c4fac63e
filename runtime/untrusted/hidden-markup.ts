import { CodeLines, endOfLine } from "../platform/markdown/code-lines.ts";
import { CodeSpanEnds } from "./code-span.ts";
import { labelsIn } from "./definitions.ts";
import { readEntity } from "./entities.ts";
import { FenceLines, fenceLine, isDiagramComment } from "./fence-line.ts";
import { withoutUnusedFootnotes } from "./footnotes.ts";
import { HtmlFilter } from "./html-filter.ts";
import { LinkFilter } from "./link-filter.ts";
import { TableRows } from "./table-rows.ts";
import { VisibleText } from "./visible-text.ts";

/**
 * Removes everything from a Markdown text that its readers do not see: HTML comments, hidden elements, attributes, titles of
 * links, descriptions of images, definitions that nothing refers to. Does not change code. Takes linear time.
 */
export const withoutHiddenMarkup = (text: string): string =>
  /<[A-Za-z!?/]|\]\s*[(:]|!\[|&[#A-Za-z]|```|~~~|\|/.test(text) ? shownOf(text, false) : text;

/**
 * The same for the first `length` characters of a text. `isCut`: the text is the beginning of a longer one; what the unknown rest
 * may turn into hidden markup is removed too. So the result contains nothing that the whole text hides.
 */
export function withoutHiddenMarkupOfStart(text: string, length: number, isCut: boolean): string {
  if (!/[<[\]&|]|```|~~~/.test(text)) return text.slice(0, length);
  return shownOf(isCut ? withoutOpenEnd(text) : text, isCut, length);
}

/** What readers see of the first `limit` characters. */
function shownOf(text: string, isCut: boolean, limit = text.length): string {
  const isStart = isCut || limit < text.length;
  const hasFootnotes = text.includes("[^");
  const filter = new MarkupFilter(text, { isCut, limit });
  const start = filter.run();
  const { keptDefinitions: kept } = filter;
  // What follows after the limit can refer to definitions, and hide footnotes.
  const whole = isStart && (hasFootnotes || kept.size > 0) ? new MarkupFilter(text, { isCut }) : filter;
  const wholeText = whole === filter ? start : whole.run();
  const footnotes = { isCut: isStart, areHidden: whole.hidesFootnotes };
  const shown = withoutUnusedFootnotes(start, footnotes);
  if (kept.size === 0) return shown;
  const { seenReferences: seen } = whole;
  // Those in footnotes that nothing refers to are gone.
  const remaining = hasFootnotes ? labelsIn(withoutUnusedFootnotes(wholeText, footnotes)) : seen;
  const referred = new Set([...seen].filter((key) => remaining.has(key)));
  if ([...kept].every((key) => referred.has(key))) return shown;
  return withoutUnusedFootnotes(new MarkupFilter(text, { isCut, limit, referred }).run(), footnotes);
}

/**
 * Removes signs at the end whose meaning depends on the following characters: a part of a run of backticks, of `<!--` or of `](`, or
 * the marks of a quotation.
 */
function withoutOpenEnd(text: string): string {
  let end = text.length;
  const open = /<[!?/]?[-[A-Za-z]{0,8}$/.exec(text.slice(-16));
  if (open) end -= open[0].length;
  while (end > 0 && (endSigns.has(text.charCodeAt(end - 1)) || /\s/.test(text[end - 1] as string))) end--;
  // A quotation whose first words are cut off is no empty line.
  const quoted = /\n[\s>]+$/.exec(text.slice(Math.max(0, end - 64), end));
  return text.slice(0, quoted ? end - quoted[0].length : end);
}

const endSigns = new Set([..."`~]"].map((sign) => sign.charCodeAt(0)));
const [newline, bang, ampersand, less, bracket, backslash, closeBracket, backtick] = [10, 33, 38, 60, 91, 92, 93, 96];

interface FilterOptions {
  readonly isCut: boolean;
  readonly limit?: number;
  readonly referred?: ReadonlySet<string> | null;
}

class MarkupFilter {
  readonly #out: VisibleText;
  readonly #html: HtmlFilter;
  readonly #links: LinkFilter | null;
  readonly #lines: CodeLines;
  readonly #spans: CodeSpanEnds;
  readonly #table = new TableRows();
  readonly #fences = new FenceLines();
  readonly #hasTable: boolean;
  readonly #hasFence: boolean;
  #isInDiagram = false;

  /** `referred`: keys of the labels that the text refers to, if that is known. */
  constructor(text: string, { isCut, limit = text.length, referred = null }: FilterOptions) {
    this.#hasTable = text.includes("|");
    this.#hasFence = text.includes("```") || text.includes("~~~");
    this.#out = new VisibleText(text, isCut, limit);
    this.#html = new HtmlFilter(this.#out);
    // In a cut text, the rest may contain the bracket with which every title counts.
    this.#links = text.includes("[") || (isCut && text.includes("](")) ? new LinkFilter(this.#out, this.#html, referred) : null;
    this.#lines = new CodeLines(text, isCut);
    this.#spans = new CodeSpanEnds(text);
  }

  get hidesFootnotes(): boolean {
    return this.#out.hidesFootnotes;
  }

  /** Keys of the definitions that are shown because the text seems to refer to them. */
  get keptDefinitions(): ReadonlySet<string> {
    return this.#links?.keptDefinitions ?? new Set();
  }

  /** Keys of the labels of the references that readers see. */
  get seenReferences(): ReadonlySet<string> {
    return this.#links?.references.keys ?? new Set();
  }

  run(): string {
    const { text, limit } = this.#out;
    for (let at = 0; at < Math.min(limit, text.length); ) {
      const isLineStart = at === 0 || text.charCodeAt(at - 1) === newline;
      const end = endOfLine(text, at);
      if (!isLineStart) at = this.#inline(at, end, false);
      else at = this.#line(at, end);
      if (text.charCodeAt(at) === newline) at++;
    }
    return this.#out.result;
  }

  #line(start: number, end: number): number {
    const { text, isCut } = this.#out;
    /** Its end is unknown. */
    const isOpen = isCut && end === text.length;
    const isBlank = firstOf(text, start, end) >= end;
    this.#html.beginLine(start, end, isBlank);
    this.#links?.references.beginLine(text.slice(start, end), isBlank);
    if (isBlank) {
      this.#table.reset();
      this.#lines.isCode(start, end);
      return end;
    }
    if (!this.#html.mayBeInHtml && !isOpen && this.#lines.isCode(start, end)) {
      this.#html.endHiddenParagraph();
      return this.#codeLine(start, end);
    }
    if (this.#lines.isUncertain) return this.#out.stop(start);
    const content = contentOf(text, start, end);
    this.#html.readBlock(start, content, end);
    if (this.#html.isInHtml) {
      this.#table.reset();
      return this.#partOfLine(start, end, end - start);
    }
    const next = text.charCodeAt(content) === bracket ? (this.#links?.definition(content) ?? null) : null;
    return next ?? this.#partOfLine(start, end, this.#hasTable ? this.#table.shownLength(text.slice(start, end)) : end - start);
  }

  #partOfLine(start: number, end: number, shownLength: number): number {
    const fence = this.#hasFence ? this.#fences.read(this.#out.text.slice(start, end), this.#html.isInHtml) : null;
    const shownEnd = start + Math.min(shownLength, fence?.shownLength ?? shownLength);
    if (shownEnd >= end) return this.#inline(start, end, true);
    const at = this.#inline(start, shownEnd, true);
    return at < end ? this.#html.remove(at, end) : at;
  }

  #codeLine(start: number, end: number): number {
    this.#table.reset();
    if (!this.#lines.isOpening) {
      const isUnseen = this.#isInDiagram && isDiagramComment(this.#out.text.slice(start, end));
      return isUnseen ? this.#out.replace(start, end) : end;
    }
    const fence = fenceLine(this.#out.text.slice(start, end));
    this.#isInDiagram = fence?.isDiagram ?? false;
    return this.#out.replace(start + (fence?.shownLength ?? end - start), end);
  }

  /** Processes a line, or the rest of one. Returns the next position, because removed markup may end in a later line. */
  #inline(start: number, end: number, isLineStart: boolean): number {
    const { text, limit } = this.#out;
    const content = isLineStart ? contentOf(text, start, end) : -1;
    let at = start;
    while (at < end && at < limit) {
      const code = text.charCodeAt(at);
      // What may be code ends no hidden element.
      const isMarkdown = !this.#html.mayBeInHtml || (this.#out.hidden !== null && !this.#html.isInHtml);
      if (code === backslash && isMarkdown) at = Math.min(at + 2, end);
      else if (code === backtick && isMarkdown) {
        this.#links?.references.beginCode(at);
        at = this.#spans.of(at, end);
      } else if (code === less) {
        const next = this.#html.markup(at, content === at);
        if (next > end) return next;
        at = next;
      } else if (code === ampersand) at = this.#entity(at, end);
      else if (this.#links && (code === bang || code === bracket || code === closeBracket))
        at = this.#bracket(this.#links, at, end);
      else at++;
    }
    return at;
  }

  #bracket(links: LinkFilter, at: number, end: number): number {
    const { text } = this.#out;
    const [sign, next] = [text.charCodeAt(at), text[at + 1]];
    if (sign === bang) return next === "[" ? links.image(at) : at + 1;
    if (sign === bracket) return this.#html.isInHtml ? at + 1 : links.label(at, end);
    return next === "(" ? links.link(at) : next === "[" ? links.reference(at + 1) : at + 1;
  }

  #entity(at: number, end: number): number {
    const found = readEntity(this.#out.text, at);
    if (!found || found.end > end) return at + 1;
    return found.replacement === null ? found.end : this.#out.replace(at, found.end, found.replacement);
  }
}

/** First character of a line after spaces and quotation marks, if a block can begin there. */
function firstOf(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && at < start + 64 && (text[at] === " " || text[at] === ">" || text[at] === "\t")) at++;
  return at;
}

/** First character of a line after the marks of the blocks that contain it. */
function contentOf(text: string, start: number, end: number): number {
  containers.lastIndex = start;
  containers.test(text);
  return Math.min(containers.lastIndex, end);
}

const containers = /(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/y;
