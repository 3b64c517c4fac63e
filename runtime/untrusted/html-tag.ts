import { rememberLatest } from "@signalbox/sdk";

interface Attribute {
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
  return { name, isEnd, isClosed: tail[1] === "/", attributes, end: tagEnd.lastIndex };
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

/** Position after the end tag of an element whose content begins at `from`; the end of the text if there is none. */
export function endOfElement(text: string, name: string, from: number): number {
  const tags = patternOf(name);
  tags.lastIndex = from;
  let depth = 1;
  for (let match = tags.exec(text); match; match = tags.exec(text)) {
    depth += match[1] === "/" ? -1 : 1;
    if (depth === 0) return tags.lastIndex;
  }
  return text.length;
}

const patterns = rememberLatest<RegExp>(200);
const patternOf = (name: string): RegExp => patterns(name, () => new RegExp(`<(/?)${name}(?=[\\s/>])[^<>]*>?`, "gi"));
