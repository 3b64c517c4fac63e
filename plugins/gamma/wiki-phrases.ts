import type { PhrasingContent } from "mdast";
import { maxDepth } from "./markdown.ts";
import { mergePhrases } from "./merge-phrases.ts";
import { emoticons } from "./wiki-signs.ts";

/** Longest distance between the two halves of a pair of characters. */
const lookahead = 2_000;
const styles: Readonly<Record<string, "strong" | "emphasis" | "delete" | null>> = {
  "*": "strong",
  _: "emphasis",
  "-": "delete",
  "??": "emphasis",
  // Markdown has no equivalent: only their text is kept.
  "+": null,
  "^": null,
  "~": null,
};
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };

interface FoundPhrase {
  readonly nodes: readonly PhrasingContent[];
  /** Where the text after it begins. */
  readonly end: number;
}
type Reader = (text: string, at: number, depth: number) => FoundPhrase | null;

/** Inline wiki markup. Line ends become breaks. */
export function wikiPhrases(text: string, depth: number): PhrasingContent[] {
  const nodes: PhrasingContent[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") nodes.push({ type: "text", value: plain });
    plain = "";
  };
  for (let at = 0; at < text.length; ) {
    const found = depth > maxDepth ? null : read(text, at, depth);
    if (!found) {
      plain += text[at];
      at += 1;
      continue;
    }
    flush();
    nodes.push(...found.nodes);
    at = found.end;
  }
  flush();
  return mergePhrases(nodes);
}

function read(text: string, at: number, depth: number): FoundPhrase | null {
  for (const reader of readers[text[at] ?? ""] ?? []) {
    const found = reader(text, at, depth);
    if (found) return found;
  }
  return null;
}

const words = (value: string, end: number): FoundPhrase => ({ nodes: [{ type: "text", value }], end });
const match = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};
const isWord = (sign: string | undefined): boolean => sign !== undefined && /[\p{L}\p{N}]/u.test(sign);
const isSpace = (sign: string | undefined): boolean => sign === undefined || /\s/.test(sign);

/** Position of the next unescaped `sign` on the same line; -1 if there is none. */
function findEnd(text: string, sign: string, from: number, fits: (at: number) => boolean = () => true): number {
  const last = Math.min(text.length, from + lookahead);
  for (let at = from; at < last; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "\n") return -1;
    else if (text.startsWith(sign, at) && fits(at)) return at;
  }
  return -1;
}

function styleNode(sign: string, inner: string, end: number, depth: number): FoundPhrase {
  const type = styles[sign];
  const children = wikiPhrases(inner, depth + 1);
  return { nodes: type && inner.trim() !== "" ? [{ type, children }] : children, end };
}

/** `{*}x{*}` works inside of words too. */
const macro: Reader = (text, at, depth) => {
  const [whole, sign = ""] = match(/\{([*_+^~-]|\?\?)\}/y, text, at) ?? [];
  if (whole === undefined) return null;
  const end = findEnd(text, whole, at + whole.length);
  return end < 0 ? null : styleNode(sign, text.slice(at + whole.length, end), end + whole.length, depth);
};

/** `*x*` works only between words. */
const between: Reader = (text, at, depth) => {
  const [sign = ""] = match(/\?\?|[*_+^~-]/y, text, at) ?? [];
  const start = at + sign.length;
  if (sign === "" || isWord(text[at - 1]) || text[at - 1] === sign || isSpace(text[start]) || text[start] === sign[0])
    return null;
  const fits = (end: number) =>
    end > start && !isSpace(text[end - 1]) && !isWord(text[end + sign.length]) && text[end + sign.length] !== sign[0];
  const end = findEnd(text, sign, start, fits);
  return end < 0 ? null : styleNode(sign, text.slice(start, end), end + sign.length, depth);
};

const code: Reader = (text, at) => {
  if (!text.startsWith("{{", at)) return null;
  const end = findEnd(text, "}}", at + 2);
  if (end < 0) return null;
  const value = unescapeWiki(text.slice(at + 2, end));
  return { nodes: value === "" ? [] : [{ type: "inlineCode", value }], end: end + 2 };
};

/** Colours and anchors have no equivalent. */
const dropMarkup: Reader = (text, at) => {
  const [whole] = match(/\{(?:color|anchor)(?::[^}\n]{0,200})?\}/iy, text, at) ?? [];
  return whole === undefined ? null : { nodes: [], end: at + whole.length };
};

const link: Reader = (text, at, depth) => {
  const end = findEnd(text, "]", at + 1);
  const inner = end < 0 ? "" : text.slice(at + 1, end);
  if (inner.trim() === "") return null;
  const user = /^~(?:accountid:)?([\w.@:+-]{1,128})$/.exec(inner)?.[1];
  if (user) return linkNode(`accountid:${user}`, [{ type: "text", value: `@${user}` }], end + 1);
  const [, shown, address = ""] = /^(?:((?:\\.|[^\\|])*)\|)?([^|\\]+)(?:\|[^|]*)?$/.exec(inner) ?? [];
  if (!/^(?:https?|ftp|mailto|tel):\S+$/i.test(address.trim())) return null;
  const url = address.trim();
  const children = shown?.trim() ? wikiPhrases(shown, depth + 1).flatMap(withoutLinks) : [{ type: "text" as const, value: url }];
  return linkNode(url, children, end + 1);
};
const linkNode = (url: string, children: PhrasingContent[], end: number): FoundPhrase => ({
  nodes: [{ type: "link", url, children: children as never }],
  end,
});
const withoutLinks = (node: PhrasingContent): PhrasingContent[] => (node.type === "link" ? node.children : [node]);

const address: Reader = (text, at) => {
  if (isWord(text[at - 1])) return null;
  const [whole] = match(/https?:\/\/[^\s|\][{}<>"\\]{1,2000}/iy, text, at) ?? [];
  const url = whole?.replace(/(?<![.,;:!?)*_])[.,;:!?)*_]+$/, "");
  return url ? linkNode(url, [{ type: "text", value: url }], at + url.length) : null;
};

/** `!shot.png|thumbnail!`: an attachment becomes text, a URL becomes an image. */
const image: Reader = (text, at) => {
  if (isWord(text[at - 1])) return null;
  const [whole, name = ""] = match(/!([^\s!|\\][^!|\n\\]{0,500})(?:\|[^!\n]{0,500})?!/y, text, at) ?? [];
  if (whole === undefined || isWord(text[at + whole.length]) || !/\.\w{2,5}$|^https?:/i.test(name)) return null;
  const end = at + whole.length;
  return /^https?:\/\/\S+$/i.test(name)
    ? { nodes: [{ type: "image", url: name, alt: "" }], end }
    : words(`(attachment ${name})`, end);
};

const escapedSign: Reader = (text, at) => {
  const sign = text[at + 1];
  if (sign === "\\") return { nodes: [{ type: "break" }], end: at + 2 };
  return sign !== undefined && /[!-/:-@[-`{-~]/.test(sign) ? words(sign, at + 2) : null;
};

const entity: Reader = (text, at) => {
  const [whole = "", number, name = ""] = match(/&(?:#(\d{1,6})|([a-z]{2,6}));/iy, text, at) ?? [];
  const value = number === undefined ? entities[name.toLowerCase()] : characterOf(Number(number));
  return value === undefined ? null : words(value, at + whole.length);
};
const characterOf = (number: number): string | undefined =>
  number >= 32 && number <= 0x10ffff && (number < 0xd800 || number > 0xdfff) ? String.fromCodePoint(number) : undefined;

const emoticon: Reader = (text, at) => {
  if (isWord(text[at - 1])) return null;
  for (const [sign, emoji] of emoticons)
    if (text.startsWith(sign, at) && !isWord(text[at + sign.length])) return words(emoji, at + sign.length);
  return null;
};

const line: Reader = (_, at) => ({ nodes: [{ type: "break" }], end: at + 1 });

const unescapeWiki = (text: string): string =>
  text.replace(/\\([!-/:-@[-`{-~])|&#(\d{1,6});|&(amp|lt|gt|quot);/g, (whole, sign, number, name) =>
    sign !== undefined ? sign : number !== undefined ? (characterOf(Number(number)) ?? whole) : (entities[name] ?? whole),
  );

/** Readers by the character that their markup begins with. */
const readers: Readonly<Record<string, readonly Reader[]>> = {
  "{": [code, macro, dropMarkup],
  "[": [link],
  "!": [image],
  "\\": [escapedSign],
  "&": [entity],
  "\n": [line],
  "*": [between],
  _: [between],
  "-": [between],
  "+": [between],
  "^": [between],
  "~": [between],
  "?": [between],
  h: [address],
  H: [address],
  "(": [emoticon],
  ":": [emoticon],
  ";": [emoticon],
};
