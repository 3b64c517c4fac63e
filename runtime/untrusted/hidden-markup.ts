import { CodeLines } from "../platform/markdown/code-lines.ts";
import { CodeSpanEnds } from "./code-span.ts";
import { Definitions, isOpenDefinition } from "./definitions.ts";
import { readEntity } from "./entities.ts";
import { isHidden, withSafeAttributes } from "./hidden-elements.ts";
import { endOfElement, isOpenTag, tagAt, voidElements } from "./html-tag.ts";

/**
 * Removes everything from a Markdown text that its readers do not see: HTML comments, hidden elements, attributes, titles of
 * links, descriptions of images, definitions that nothing refers to. Does not change code. Takes linear time.
 */
export const withoutHiddenMarkup = (text: string): string =>
  /<[A-Za-z!?/]|\]\s*[(:]|!\[|&[#A-Za-z]/.test(text) ? new MarkupFilter(text, false).run() : text;

/**
 * The same for the beginning of a longer text. Also removes what the rest of that text may turn into hidden markup. So the result
 * contains nothing that the whole text hides.
 */
export const withoutHiddenMarkupOfCut = (text: string): string =>
  /[<[\]&]/.test(text) ? new MarkupFilter(withoutOpenEnd(text), true).run() : text;

/**
 * Removes signs at the end whose meaning depends on the following characters: a part of a run of backticks, of `<!--` or of `](`.
 */
function withoutOpenEnd(text: string): string {
  let end = text.length;
  const open = /<[!?/]?[-[A-Za-z]{0,8}$/.exec(text.slice(-16));
  if (open) end -= open[0].length;
  while (end > 0 && (endSigns.has(text.charCodeAt(end - 1)) || /\s/.test(text[end - 1] as string))) end--;
  return text.slice(0, end);
}

const endSigns = new Set([..."`~]"].map((sign) => sign.charCodeAt(0)));
const [newline, bang, ampersand, less, bracket, backslash, closeBracket, backtick] = [10, 33, 38, 60, 91, 92, 93, 96];

class MarkupFilter {
  readonly #text: string;
  readonly #isCut: boolean;
  readonly #lines: CodeLines;
  readonly #spans: CodeSpanEnds;
  readonly #definitions: Definitions;
  #out = "";
  #copied = 0;
  /** Within a block of HTML, Markdown has no meaning. A `pre` block ends with its tag, all others with a blank line. */
  #html: "until blank" | "until end of pre" | null = null;
  /** From this position on, no comment ends. */
  #noCommentEndFrom = Number.POSITIVE_INFINITY;
  /** Kinds of markup that do not end after this position. */
  readonly #unclosed = new Set<(typeof hiddenKinds)[number]>();
  readonly #images: Int32Array | null;
  /** Start of the last paragraph. */
  readonly #lastParagraph: number;

  constructor(text: string, isCut: boolean) {
    this.#text = text;
    this.#isCut = isCut;
    this.#lines = new CodeLines(text, isCut);
    this.#spans = new CodeSpanEnds(text);
    this.#definitions = new Definitions(text);
    this.#images = text.includes("![") ? matchingBrackets(text) : null;
    this.#lastParagraph = text.lastIndexOf("\n\n");
  }

  run(): string {
    const text = this.#text;
    for (let at = 0; at < text.length; ) {
      const isLineStart = at === 0 || text.charCodeAt(at - 1) === newline;
      const end = endOfLine(text, at);
      if (!isLineStart) at = this.#inline(at, end, false);
      else at = this.#line(at, end);
      if (text.charCodeAt(at) === newline) at++;
    }
    return this.#copied === 0 ? text : this.#out + text.slice(this.#copied);
  }

  #replace(from: number, to: number, by = ""): number {
    this.#out += this.#text.slice(this.#copied, from) + by;
    this.#copied = to;
    return to;
  }

  /** Removes the rest of a cut text. */
  #stop(at: number): number {
    return this.#replace(at, this.#text.length);
  }

  #line(start: number, end: number): number {
    const text = this.#text;
    /** Its end is unknown. */
    const isOpen = this.#isCut && end === text.length;
    const first = firstOf(text, start, end);
    if (first >= end) {
      if (this.#html === "until blank") this.#html = null;
      this.#lines.isCode(start, end);
      return end;
    }
    if (this.#html === null && !isOpen && this.#lines.isCode(start, end)) return end;
    if (this.#lines.isUncertain) return this.#stop(start);
    if (this.#html === null && text.charCodeAt(first) === less && /[A-Za-z/]/.test(text[first + 1] ?? ""))
      this.#html = /<(?:pre|textarea)[\s>]/iy.test(text.slice(first, first + 12)) ? "until end of pre" : "until blank";
    if (this.#html === "until end of pre" && /<\/(?:pre|textarea)>/i.test(text.slice(start, end))) this.#html = "until blank";
    if (this.#html === null && text.charCodeAt(first) === bracket) {
      const definition = this.#definitions.at(first, end);
      if (definition) return this.#replace(definition.from, definition.to);
      if (isOpen && isOpenDefinition(text, first)) return this.#stop(first);
    }
    return this.#inline(start, end, true);
  }

  /** Processes a line, or the rest of one. Returns the next position, because removed markup may end in a later line. */
  #inline(start: number, end: number, isLineStart: boolean): number {
    const text = this.#text;
    let at = start;
    while (at < end) {
      const code = text.charCodeAt(at);
      if (code === backslash && this.#html === null) at = Math.min(at + 2, end);
      else if (code === backtick && this.#html === null) at = this.#spans.of(at, end);
      else if (code === less) {
        const next = this.#markup(at, isLineStart && firstOf(text, start, end) === at);
        if (next > end) return next;
        at = next;
      } else if (code === ampersand) at = this.#entity(at, end);
      else if (code === bang && text.charCodeAt(at + 1) === bracket) at = this.#image(at, end);
      else if (code === closeBracket && text[at + 1] === "(") at = this.#link(at, end);
      else at++;
    }
    return at;
  }

  #markup(at: number, isBlockStart: boolean): number {
    const text = this.#text;
    if (text.startsWith("<!--", at)) return this.#comment(at, isBlockStart);
    const sign = text[at + 1];
    const kind = sign === "?" || sign === "!" ? hiddenKinds.find(([open]) => text.startsWith(open, at)) : undefined;
    if (kind && !this.#unclosed.has(kind)) {
      const end = text.indexOf(kind[1], at + kind[0].length);
      if (end >= 0) return this.#replace(at, end + kind[1].length);
      if (this.#isCut) return this.#stop(at);
      this.#unclosed.add(kind);
    }
    const tag = tagAt(text, at);
    if (!tag && this.#isCut && isOpenTag(text, at)) return this.#stop(at);
    if (!tag || tag.isEnd) return tag?.end ?? at + 1;
    if (isHidden(tag)) {
      const isEmpty = tag.isClosed || voidElements.has(tag.name);
      return this.#replace(at, isEmpty ? tag.end : endOfElement(text, tag.name, tag.end));
    }
    const shown = withSafeAttributes(tag);
    return shown === null ? tag.end : this.#replace(at, tag.end, shown);
  }

  #comment(at: number, isBlockStart: boolean): number {
    const text = this.#text;
    if (text.startsWith(">", at + 4)) return this.#replace(at, at + 5);
    if (text.startsWith("->", at + 4)) return this.#replace(at, at + 6);
    if (at < this.#noCommentEndFrom) {
      commentEnd.lastIndex = at + 4;
      if (commentEnd.test(text)) return this.#replace(at, commentEnd.lastIndex);
      this.#noCommentEndFrom = at;
    }
    // In a block that is not closed, everything that follows is a comment. Within a paragraph, it is text.
    return isBlockStart || this.#isCut ? this.#stop(at) : at + 4;
  }

  #entity(at: number, end: number): number {
    const found = readEntity(this.#text, at);
    if (!found || found.end > end) return at + 1;
    return found.replacement === null ? found.end : this.#replace(at, found.end, found.replacement);
  }

  #image(at: number, end: number): number {
    const close = this.#images?.[at + 1] ?? 0;
    if (close === 0 && this.#isCut && at > this.#lastParagraph) return this.#stop(at);
    const next = this.#text[close + 1];
    if (close === 0 || (next !== "(" && next !== "[")) return at + 2;
    if (close > at + 2) this.#replace(at, close, "![");
    return close >= end ? close : next === "(" ? this.#link(close, end) : close + 1;
  }

  /** Removes the title from `](address "title")`. */
  #link(at: number, end: number): number {
    linkTail.lastIndex = at;
    const match = linkTail.exec(this.#text);
    openLinkTail.lastIndex = at;
    if (!match && this.#isCut && at > this.#text.length - maxLinkLength && openLinkTail.test(this.#text))
      return this.#stop(at + 1);
    if (!match?.[1] || linkTail.lastIndex > end + maxTitleLength) return at + 1;
    const titleAt = at + match[0].length - 1 - match[1].length;
    this.#replace(titleAt, titleAt + match[1].length);
    return titleAt + match[1].length;
  }
}

const commentEnd = /--!?>/g;
const maxTitleLength = 4_096;
/** The address contains no spaces, so the title is everything after it. */
const linkTail =
  /\]\([ \t]*(?:\n[ \t]*)?(?:<[^<>\n]{0,4096}>|[^\s<>"'()]{0,4096}(?:\([^\s()]{0,256}\)[^\s<>"'()]{0,1024}){0,4})(\s{1,20}(?:"[^"]{0,4096}"|'[^']{0,4096}'|\([^()]{0,4096}\))\s{0,20})?\)/y;
/** A text's end that may be the beginning of such an end of a link. */
const openLinkTail =
  /\]\([ \t]*(?:\n[ \t]*)?(?:<[^<>\n]{0,4096}>?|[^\s<>"'()]{0,4096}(?:\([^\s()]{0,256}\)[^\s<>"'()]{0,1024}){0,4}(?:\([^\s()]{0,256})?)(?:\s{1,20}(?:"[^"]{0,4096}"?|'[^']{0,4096}'?|\([^()]{0,4096}\)?)?\s{0,20})?$/y;
/** Maximum length of its match. */
const maxLinkLength = 16_384;
const hiddenKinds = [
  ["<?", "?>"],
  ["<![CDATA[", "]]>"],
  ["<!DOCTYPE", ">"],
  ["<!doctype", ">"],
  ["<!ELEMENT", ">"],
  ["<!ENTITY", ">"],
] as const;

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** First character of a line after spaces and quotation marks, if a block can begin there. */
function firstOf(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && at < start + 64 && (text[at] === " " || text[at] === ">" || text[at] === "\t")) at++;
  return at;
}

/** For each `[`, the position of its `]` in the same paragraph; 0 if there is none. */
function matchingBrackets(text: string): Int32Array {
  const matches = new Int32Array(text.length);
  let open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === bracket) open.push(at);
    else if (code === closeBracket) {
      const start = open.pop();
      if (start !== undefined) matches[start] = at;
    } else if (code === newline && text.charCodeAt(at + 1) === newline) open = [];
  }
  return matches;
}
