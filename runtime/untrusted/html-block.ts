import { tagAt } from "./html-tag.ts";

/** Elements that begin a block of HTML in each line, by CommonMark. */
const blockElements =
  "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section source summary table tbody td tfoot th thead title tr track ul";
const footnote = /\[\^[^\]\s]{1,999}\]:[ \t>]*/y;
const comment = /<(?:!--|!\[CDATA\[|![A-Za-z]|\?)/y;
const rawBlock = /<(?:pre|script|style|textarea)(?:[\s>]|$)/iy;
const certainBlock = new RegExp(`</?(?:${blockElements.replaceAll(" ", "|")})(?:[\\s/>]|$)`, "iy");
const anyTag = /<\/?[A-Za-z]/y;

/** Markup that readers do not see, with its end. */
export const hiddenKinds = [
  ["<?", "?>"],
  ["<![CDATA[", "]]>"],
  ["<!DOCTYPE", ">"],
  ["<!doctype", ">"],
  ["<!ELEMENT", ">"],
  ["<!ENTITY", ">"],
] as const;

/**
 * Within HTML, Markdown has no meaning. A `pre` block ends with its tag, the rest of the last line of a comment with that line, all
 * others with a blank line.
 */
export type HtmlEnd = "blank line" | "end tag" | "line end";

interface HtmlBlock {
  readonly endsWith: HtmlEnd;
  /** Whether all platforms read it as HTML. */
  readonly isCertain: boolean;
  readonly isQuoted: boolean;
}

/**
 * The block of HTML that may begin in a line, whose content begins at `content`; `null` if none does. Only after a blank line is it
 * certain that no paragraph continues.
 */
export function blockOf(text: string, start: number, content: number, end: number, isAfterBlank: boolean): HtmlBlock | null {
  footnote.lastIndex = content;
  const at = text[content] === "[" && footnote.test(text) ? footnote.lastIndex : content;
  if (text[at] !== "<" || at >= end) return null;
  const begins = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.test(text);
  };
  const isQuoted = text.slice(start, at).includes(">");
  // It may be code.
  const isIndented = /(?: {4}|\t)$/.test(text.slice(start, content));
  if (begins(comment)) return { endsWith: "line end", isCertain: !isIndented, isQuoted };
  if (begins(rawBlock)) return { endsWith: "end tag", isCertain: !isIndented, isQuoted };
  if (begins(certainBlock)) return { endsWith: "blank line", isCertain: !isIndented, isQuoted };
  if (!begins(anyTag)) return null;
  const line = text.slice(at, end);
  const tag = tagAt(line, 0);
  return {
    endsWith: "blank line",
    isCertain: isAfterBlank && !isIndented && tag !== null && line.slice(tag.end).trim() === "",
    isQuoted,
  };
}

/** Whether only blanks and the marks of quotations precede `at` in its line. */
export const beginsLine = (text: string, at: number): boolean => /(?:^|\n)[ \t>]*$/.test(text.slice(Math.max(0, at - 64), at));

const blankLine = /\n[ \t]*(?=\n|$)/g;
const quotedBlankLine = /\n[ \t>]*(?=\n|$)/g;
const paragraphEnd = /\n[ \t>]*(?=\n|$|```[^`\n]*(?:\n|$)|~~~)/g;
const commentEnd = /--!?>/g;
/** The beginning of an attribute that may hide an element. */
const hidingAttribute = /[\s/"'](?:hidden|style|color)/gi;

/** Finds the ends of blocks and of tags. Pass the positions in order, so that no part of the text is read twice. */
export class BlockEnds {
  readonly #text: string;
  #blankLine = -1;
  #quotedBlankLine = -1;
  #paragraphEnd = -1;
  #tagStart = -1;
  #tagEnd = -1;
  #hidingAttribute = -1;
  #commentEnd = { from: 0, start: -1, end: -1 };

  constructor(text: string) {
    this.#text = text;
  }

  /** Position of the next blank line, or the end of the text. In a quotation, a line may contain its marks. */
  blankLine(at: number, isQuoted: boolean): number {
    if (isQuoted) {
      if (this.#quotedBlankLine < at) this.#quotedBlankLine = this.#next(quotedBlankLine, at);
      return this.#quotedBlankLine;
    }
    if (this.#blankLine < at) this.#blankLine = this.#next(blankLine, at);
    return this.#blankLine;
  }

  /** The same, or a code block that begins before it. */
  paragraphEnd(at: number): number {
    if (this.#paragraphEnd < at) this.#paragraphEnd = this.#next(paragraphEnd, at);
    return this.#paragraphEnd;
  }

  /** Position of the next `<`, or the end of the text. */
  tagStart(at: number): number {
    if (this.#tagStart < at) {
      const found = this.#text.indexOf("<", at);
      this.#tagStart = found < 0 ? this.#text.length : found;
    }
    return this.#tagStart;
  }

  /** Position of the next `>`, or the end of the text. */
  tagEnd(at: number): number {
    if (this.#tagEnd < at) {
      const found = this.#text.indexOf(">", at);
      this.#tagEnd = found < 0 ? this.#text.length : found;
    }
    return this.#tagEnd;
  }

  /** Position after the next end of a comment; -1 if there is none. */
  commentEnd(at: number): number {
    const { from, start } = this.#commentEnd;
    if (at < from || at > start) {
      commentEnd.lastIndex = at;
      const found = commentEnd.exec(this.#text)?.index ?? Number.POSITIVE_INFINITY;
      this.#commentEnd = { from: at, start: found, end: Number.isFinite(found) ? commentEnd.lastIndex : -1 };
    }
    return this.#commentEnd.end;
  }

  /** Position of the next name of an attribute that may hide an element, or the end of the text. */
  hidingAttribute(at: number): number {
    if (this.#hidingAttribute < at) this.#hidingAttribute = this.#next(hidingAttribute, at);
    return this.#hidingAttribute;
  }

  #next(pattern: RegExp, at: number): number {
    pattern.lastIndex = at;
    return pattern.exec(this.#text)?.index ?? this.#text.length;
  }
}
