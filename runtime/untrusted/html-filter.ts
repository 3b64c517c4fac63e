import { isHiddenElement } from "@signalbox/sdk";
import { fenceLine } from "./fence-line.ts";
import { hidesContent, isEmpty, isHidden, shownTag } from "./hidden-elements.ts";
import { HiddenRegion, isBlock } from "./hidden-region.ts";
import { BlockEnds, beginsLine, blockOf, type HtmlEnd, hiddenKinds } from "./html-block.ts";
import { htmlTagAt, isOpenTag, type Tag, tagAt, voidElements } from "./html-tag.ts";
import { continuationOf } from "./line-marks.ts";
import type { VisibleText } from "./visible-text.ts";

/** Removes comments, hidden elements and attributes from a Markdown text. Pass the positions in order. */
export class HtmlFilter {
  readonly #out: VisibleText;
  readonly #ends: BlockEnds;
  #html: HtmlEnd | null = null;
  #isCertainHtml = false;
  /** Whether the last line was blank, so that any tag can begin a block. */
  #isAfterBlank = true;
  #isBlank = true;
  /** Whether the block of HTML is in a quotation. */
  #isQuoted = false;
  /** What precedes each further line of the block. */
  #container = "";
  /** Whether the end of the paragraph that began last ends no element any more, because a tag has ended it before. */
  #isParagraphOver = false;
  /** Where the text after a hidden paragraph begins, if that paragraph has ended. */
  #visibleFrom: number | null = null;
  /** Number of characters that may still be read in vain, because they may be a tag of a hidden element. */
  #readableInVain = maxReadInVain;
  /** Kinds of markup that do not end after this position. */
  readonly #unclosed = new Set<(typeof hiddenKinds)[number]>();

  constructor(out: VisibleText) {
    this.#out = out;
    this.#ends = new BlockEnds(out.text);
  }

  /** Whether a block of HTML may be open, in which Markdown has no meaning. */
  get mayBeInHtml(): boolean {
    return this.#html !== null;
  }

  /** Whether a block of HTML certainly is open, so browsers read its tags. */
  get isInHtml(): boolean {
    return this.#html !== null && this.#isCertainHtml;
  }

  get #isInParagraph(): boolean {
    return this.#html === null && !this.#isParagraphOver;
  }

  /** Begins a line before its blocks are known. */
  beginLine(start: number, end: number, isBlank: boolean): void {
    [this.#isAfterBlank, this.#isBlank] = [this.#isBlank, isBlank];
    // A block outside of a quotation continues after the marks of an empty one.
    const endsHtml = isBlank && (this.#isQuoted || !this.#out.text.slice(start, end).includes(">"));
    if (this.#html === "line end" || (endsHtml && this.#html === "blank line")) this.#html = null;
    if (!isBlank || this.#html !== null) return;
    this.#isParagraphOver = false;
    this.#out.hidden?.endParagraph();
    if (!this.#out.hidden?.endsWithParagraph) return;
    this.#visibleFrom ??= start - 1;
    if (this.#out.hidden.isInParagraph) this.endHiddenParagraph();
  }

  /** Ends a hidden paragraph before a block that is not HTML. HTML may continue it: `<p hidden>`, an empty line, `<b>`. */
  endHiddenParagraph(): void {
    if (this.#visibleFrom !== null) this.#out.show(this.#visibleFrom);
    this.#visibleFrom = null;
  }

  /** Finds the block of HTML that a line may begin or end. */
  readBlock(start: number, content: number, end: number): void {
    const { text, hidden } = this.#out;
    // The block that contains it has ended, but not on all platforms.
    if (this.isInHtml && !text.startsWith(this.#container, start)) this.#isCertainHtml = false;
    if (!this.isInHtml) {
      const block = blockOf(text, start, content, end, this.#isAfterBlank);
      if (block) {
        [this.#html, this.#isCertainHtml, this.#isQuoted] = [block.endsWith, block.isCertain, block.isQuoted];
        this.#container = continuationOf(text.slice(start, end), content - start);
      }
    }
    if (this.#html === "end tag" && /<\/(?:pre|script|style|textarea)>/i.test(text.slice(start, end))) this.#html = "line end";
    // In code, no end tag has a meaning.
    if (hidden && !this.isInHtml && fenceLine(text.slice(start, end))) hidden.reachToEnd();
    if (this.#html === null) this.endHiddenParagraph();
    if (!this.isInHtml && this.#isAfterBlank) this.#out.hidden?.beginParagraph();
    this.#visibleFrom = null;
  }

  /** Reads the markup at a `<`, and returns the next position. */
  markup(at: number, isBlockStart: boolean): number {
    const { text } = this.#out;
    if (this.#out.hidden?.rawText) return this.#rawText(at, this.#out.hidden, this.#out.hidden.rawText);
    if (text.startsWith("<!--", at)) return this.#comment(at, isBlockStart);
    const unseen = this.#unseenMarkup(at, isBlockStart);
    if (unseen !== null) return unseen;
    const tag = this.isInHtml
      ? htmlTagAt(text, at, this.#html === "end tag" ? text.length : this.#ends.blankLine(at, this.#isQuoted), this.#isQuoted)
      : tagAt(text, at);
    if (this.#out.isCut && (tag === null ? isOpenTag(text, at) : tag.isOpen && tag.end >= text.length)) return this.#out.stop(at);
    if (tag && !this.isInHtml && (this.#isInterrupted(at, tag.end) || blankLine.test(text.slice(at, tag.end)))) return at + 1;
    if (tag?.isOpen) {
      this.#out.hidden?.reachToEnd();
      return this.#out.replace(at, tag.end);
    }
    return tag ? this.#tag(tag, at) : at + 1;
  }

  #tag(tag: Tag, at: number): number {
    const hidden = this.#out.hidden;
    if (hidden && !tag.isEnd && hidden.endsBefore(tag.name)) this.#out.show(at);
    else if (hidden) {
      if (!tag.isEnd) hidden.begin(tag.name, isHidden(tag));
      else if (hidden.end(tag.name)) return this.#endOfHidden(hidden, hidden.keepsEnd ? at : tag.end, tag.end);
      return tag.end;
    }
    if (this.#html === null && isBlock(tag.name)) this.#isParagraphOver = true;
    const shown = shownTag(tag);
    if (tag.isEnd) return shown === null ? tag.end : this.#out.replace(at, tag.end, shown);
    if (isHidden(tag)) {
      if (isEmpty(tag)) return this.#out.replace(at, tag.end);
      this.#out.hide(new HiddenRegion(tag.name, at, { isInParagraph: this.#isInParagraph }));
      return tag.end;
    }
    if (shown !== null) this.#out.replace(at, tag.end, shown);
    if (hidesContent(tag)) this.#out.hide(new HiddenRegion(tag.name, tag.end, { keepsEnd: true }));
    return tag.end;
  }

  #endOfHidden({ from }: HiddenRegion, shownFrom: number, end: number): number {
    const next = this.#endOfRemoved(from, shownFrom);
    this.#out.show(next);
    return Math.max(next, end);
  }

  /** The content of an element that only its own end tag ends. */
  #rawText(at: number, hidden: HiddenRegion, name: string): number {
    const { text } = this.#out;
    const nameEnd = at + 2 + name.length;
    if (text[at + 1] !== "/" || text.slice(at + 2, nameEnd).toLowerCase() !== name) return at + 1;
    if (!/[\s/>]/.test(text[nameEnd] ?? "")) return at + 1;
    const end = Math.min(this.#ends.tagEnd(at) + 1, text.length);
    return hidden.end(name) ? this.#endOfHidden(hidden, end, end) : end;
  }

  /** Removes what browsers read as a comment; `null` if there is none at `at`. */
  #unseenMarkup(at: number, isBlockStart: boolean): number | null {
    const { text } = this.#out;
    const sign = text[at + 1];
    if (sign !== "?" && sign !== "!" && sign !== "/") return null;
    const kind = hiddenKinds.find(([open]) => text.startsWith(open, at));
    if (kind && !this.#unclosed.has(kind)) {
      const end = text.indexOf(kind[1], at + kind[0].length);
      if (end >= 0) return this.remove(at, end + kind[1].length);
      // A block that is not closed reaches to the end. Within a paragraph, it is text.
      const mayBeBlock = isBlockStart || (this.mayBeInHtml && !this.isInHtml) || beginsLine(text, at);
      if (this.#out.isCut || mayBeBlock) return this.#out.stop(at);
      this.#unclosed.add(kind);
    }
    const isLetter = /[A-Za-z]/.test(text[at + 2] ?? "");
    const inHtml = this.isInHtml || (this.#html !== null && isBlockStart);
    if (sign === "/" ? isLetter || !inHtml : !inHtml && !(sign === "!" && isLetter)) return null;
    const isWhole = isBlockStart || (inHtml && this.#html !== "blank line");
    const limit = isWhole
      ? this.#out.lineEnd(at)
      : this.isInHtml
        ? this.#ends.blankLine(at, this.#isQuoted)
        : this.#ends.paragraphEnd(at);
    const end = this.#ends.tagEnd(at);
    if (end < limit) return this.remove(at, end + 1);
    // What contains the block may end before it, so nothing that follows is certain.
    if (isWhole) return this.#out.stop(at);
    if (this.#out.isCut && limit >= text.length) return this.#out.stop(at);
    if (!inHtml) return null;
    this.#out.hidden?.reachToEnd();
    return this.#out.replace(at, limit);
  }

  #comment(at: number, isBlockStart: boolean): number {
    const { text } = this.#out;
    if (text.startsWith(">", at + 4)) return this.#out.replace(at, at + 5);
    if (text.startsWith("->", at + 4)) return this.#out.replace(at, at + 6);
    const end = this.#ends.commentEnd(at + 4);
    // In a paragraph, `--!>` ends no comment.
    if (end >= 0)
      return this.isInHtml || text[end - 2] !== "!" ? this.#out.replace(at, this.#endOfRemoved(at, end)) : this.remove(at, end);
    // In a block that is not closed, everything that follows is a comment. Within a paragraph, it is text.
    return this.#out.isCut || isBlockStart || this.mayBeInHtml || beginsLine(text, at) ? this.#out.stop(at) : at + 4;
  }

  /**
   * Removes what readers see only if a platform reads it in another way. So comments and hidden elements that begin in it are hidden
   * to their end.
   */
  remove(from: number, to: number, by = ""): number {
    const { text } = this.#out;
    let end = to;
    for (let at = this.#ends.tagStart(from); at < end && !this.#out.hidden; at = this.#ends.tagStart(at + 1)) {
      if (text.startsWith("<!--", at)) {
        const commentEnd = this.#ends.commentEnd(at + 4);
        if (commentEnd < 0 && beginsLine(text, at)) return this.#out.stop(from);
        end = Math.max(end, commentEnd);
      }
      const whole = tagAt(text, at);
      const tag = whole ?? this.#partOfTag(at, Math.min(end, at + maxTagLength));
      if (!tag || tag.isEnd) continue;
      if (voidElements.has(tag.name) || !(isHidden(tag) || hidesContent(tag))) {
        if (!whole) this.#readableInVain -= tag.end;
        // No person writes so many, so nothing that follows is certain.
        if (this.#readableInVain < 0) return this.#out.stop(from);
        continue;
      }
      this.#out.hide(new HiddenRegion(tag.name, from, { isInParagraph: this.#isInParagraph, minEnd: end }));
      return whole ? whole.end : at + tag.end;
    }
    return this.#out.replace(from, this.#endOfRemoved(from, end), by);
  }

  /** The tag that browsers read at `at`, with the positions in that part of the text; `null` if it hides nothing. */
  #partOfTag(at: number, end: number): Tag | null {
    const { text } = this.#out;
    const name = elementName.exec(text.slice(at + 1, Math.min(end, at + maxNameLength)))?.[0].toLowerCase();
    if (name === undefined) return null;
    const hasHidingName = isHiddenElement(name, []) || hidesContent({ name });
    return hasHidingName || this.#ends.hidingAttribute(at) < end ? htmlTagAt(text.slice(at, end), 0, end - at, false) : null;
  }

  /** If the last of these lines begins a block, nothing more of it is shown. */
  #endOfRemoved(from: number, to: number): number {
    return this.#isInterrupted(from, to) ? this.#out.lineEnd(to) : to;
  }

  /** Whether the last of these lines begins a code block or a footnote, so that markup does not reach into it. */
  #isInterrupted(from: number, to: number): boolean {
    const lineEnd = this.#out.text.slice(from, to).lastIndexOf("\n");
    if (lineEnd < 0) return false;
    const line = this.#out.text.slice(from + lineEnd + 1, this.#out.lineEnd(to));
    return fenceLine(line) !== null || /^[ \t>]*\[\^[^\]]+\]:/.test(line);
  }
}

const blankLine = /\n[ \t>]*\n/;
/** Length of the part of a tag that is read where it may be one. */
const maxTagLength = 1_000;
const maxReadInVain = 200 * maxTagLength;
/** The names of hidden elements are shorter. */
const maxNameLength = 30;
const elementName = /^[A-Za-z][^\s/>]*/;
