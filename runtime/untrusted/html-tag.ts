export interface Attribute {
  readonly name: string;
  readonly value: string | null;
  /** The attribute as it is written. */
  readonly raw: string;
}
export interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly isClosed: boolean;
  readonly attributes: readonly Attribute[];
  /** Position after the tag. */
  readonly end: number;
  /** Whether nothing ends the tag. */
  readonly isOpen: boolean;
}

const attribute = /\s+([A-Za-z_:@][\w.:@-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/y;
const tagEnd = /\s*(\/?)>/y;

/** The HTML tag that begins at `at`, by the rules of CommonMark; `null` if there is none. */
export function tagAt(text: string, at: number): Tag | null {
  const isEnd = text[at + 1] === "/";
  const start = isEnd ? at + 2 : at + 1;
  let end = start;
  while (isName(text.charCodeAt(end), end > start)) end++;
  if (end === start || !isAfterName(text.charCodeAt(end))) return null;
  const name = text.slice(start, end).toLowerCase();
  const attributes: Attribute[] = [];
  while (isBlank(text.charCodeAt(end)) && text[end + 1] !== "<") {
    attribute.lastIndex = end;
    const match = attribute.exec(text);
    if (!match) break;
    const [raw, called = "", double, single, plain] = match;
    attributes.push({ name: called.toLowerCase(), value: double ?? single ?? plain ?? null, raw: raw.trim() });
    end = attribute.lastIndex;
  }
  tagEnd.lastIndex = end;
  const tail = tagEnd.exec(text);
  if (!tail) return null;
  return { name, isEnd, isClosed: tail[1] === "/", attributes, end: tagEnd.lastIndex, isOpen: false };
}

const openEnd = /\s*(?:=\s*(?:"[^"]*|'[^']*)?|\/)?$/y;

/** Whether a cut text ends inside a possible tag that begins at `at`. */
export function isOpenTag(text: string, at: number): boolean {
  tagName.lastIndex = at;
  if (!tagName.test(text)) return false;
  let end = tagName.lastIndex;
  attribute.lastIndex = end;
  while (attribute.test(text)) end = attribute.lastIndex;
  openEnd.lastIndex = end;
  return openEnd.test(text);
}

const tagName = /<\/?[A-Za-z][A-Za-z0-9-]*/y;
const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
const isName = (code: number, inside: boolean): boolean =>
  isLetter(code) || (inside && ((code >= 0x30 && code <= 0x39) || code === 0x2d));
const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);
const isAfterName = (code: number): boolean => isBlank(code) || code === 0x2f || code === 0x3e;

/** Elements without content. */
export const voidElements = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));

const nameEnd = /[\s/>]/g;
/** The end of an attribute's name, and of a value without quotes. */
const attributeNameEnd = /[\s/>=]/g;
const valueEnd = /[\s>]/g;

/** Position of the next match; the end of the text if there is none. */
function next(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/**
 * The HTML tag that begins at `at`, by the rules of browsers, for blocks of HTML, which platforms do not read as Markdown. `limit`: the
 * end of the block. `isQuoted`: its lines begin with the marks of a quotation. A tag that does not end before it ends there, but a value in quotes reaches to its quotation mark.
 */
export function htmlTagAt(text: string, at: number, limit: number, isQuoted: boolean): Tag | null {
  const isEnd = text[at + 1] === "/";
  const start = isEnd ? at + 2 : at + 1;
  if (!isLetter(text.charCodeAt(start))) return null;
  let end = Math.min(next(nameEnd, text, start), limit);
  const name = text.slice(start, end).toLowerCase();
  const attributes: Attribute[] = [];
  let isClosed = false;
  while (end < limit && text[end] !== ">") {
    isClosed = text[end] === "/";
    if (isClosed || isBlank(text.charCodeAt(end))) {
      end = isClosed ? end + 1 : afterBlanks(text, end, isQuoted);
      continue;
    }
    const from = end;
    end = next(attributeNameEnd, text, from + 1);
    const called = text.slice(from, end).toLowerCase();
    const equals = afterBlanks(text, end, isQuoted);
    let value: string | null = null;
    if (text[equals] === "=") {
      const first = afterBlanks(text, equals + 1, isQuoted);
      const quote = text[first];
      if (quote === '"' || quote === "'") {
        const close = text.indexOf(quote, first + 1);
        value = text.slice(first + 1, close < 0 ? text.length : close);
        end = close < 0 ? text.length : close + 1;
      } else {
        end = next(valueEnd, text, first);
        value = text.slice(first, end);
      }
    }
    attributes.push({ name: called, value, raw: text.slice(from, end) });
  }
  const isOpen = text[end] !== ">";
  return { name, isEnd, isClosed, attributes, end: isOpen ? end : end + 1, isOpen };
}

function afterBlanks(text: string, from: number, isQuoted: boolean): number {
  let at = from;
  let isLineStart = false;
  for (; isBlank(text.charCodeAt(at)) || (isQuoted && isLineStart && text[at] === ">"); at++) isLineStart ||= text[at] === "\n";
  return at;
}
