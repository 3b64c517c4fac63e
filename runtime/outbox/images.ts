import { isEscaped } from "../platform/markdown/code-spans.ts";
import { hasMore } from "../platform/markdown/prose.ts";
import { tagAt } from "../untrusted/html-tag.ts";

/** The description of an image, up to the next image, so that a text of many beginnings is not read once for each. */
const alt = "((?:[^\\]\\n!]|!(?!\\[)){0,500})";
/**
 * A Markdown image with its address, in a form that every platform reads alike. Otherwise a platform may read another address: that
 * of the description as a reference, or one that follows a bracket in an element.
 */
const image =
  /!\[[^\][\n!<>`\\&]{0,500}\]\([ \t]{0,3}(?:<([^\s<>()]{1,2048})>|([^\s<>()]{1,2048}))(?:[ \t]{1,3}"[^"\\\n]{0,500}")?[ \t]{0,3}\)/y;
/** Also matches an image without an end, so that its data is not read again for each image inside it. */
const dataImage = new RegExp(
  `!\\[${alt}\\]\\(\\s{0,3}<?data:[^\\s)>]{0,4000000}(>?(?:\\s{1,3}"[^"\\n]{0,500}")?\\s{0,3}\\))?`,
  "gi",
);
/**
 * Elements that cause a browser to load a resource. Code with an attribute is one of them, because the attribute can name the
 * language of a diagram.
 */
const loadingElement =
  /<(?=\/?(?:img|image|picture|source|video|audio|iframe|frame|embed|object|input|svg|link|script|style|meta|base|track|portal|(?:pre|code)(?=[\s/]))\b)/gi;
/**
 * An attribute that causes a browser to load a resource, with its value. A value without quotes is a part of the match, so that a run
 * of such attributes is read once; the sign that ends it can make the value reach further.
 */
const loadingAttribute =
  /[\s"'/](?:background|poster|srcset|style)\s*=\s*(?:(?=["'])(?="([^"]*)|'([^']*))|([^\s>"'<]*)(?=(["'<]?)))/gi;
/** An address in the value of an attribute, or what can spell one. */
const addressInValue = /url|src|image|\/\/|[\\&]|https?:/i;

/** The beginning of an element, unless it closes at once and has no attributes. */
const openElement = /<(?=[A-Za-z])(?![A-Za-z][A-Za-z0-9-]*\s*\/?>)/g;

/**
 * Maximum number of images, elements and attributes whose URLs are checked. If there are more, all images become links, and further
 * elements text.
 */
const maxImages = 1_000;

/** Replaces images from other hosts with links. Loading an image would reveal the reader, and data in the URL, to its host. */
export function withoutForeignImages(text: string, hosts: readonly string[]): string {
  let result = text;
  if (hasMore(result, "![", maxImages)) result = result.replace(/!+(?=\[)/g, "");
  else if (result.includes("![")) {
    result = result.replace(dataImage, (whole: string, alt: string, end?: string) =>
      end === undefined ? whole : `[image${alt ? `: ${alt}` : ""}]`,
    );
    result = result.replace(/!+(?=\[)/g, (signs: string, before: number, whole: string) => {
      const at = before + signs.length - 1;
      if (isEscaped(whole, at)) return signs;
      image.lastIndex = at;
      const match = image.exec(whole);
      const address = match?.[1] ?? match?.[2];
      if (address && isOwn(address, hosts)) return signs;
      // The sign before it would make an image of the link.
      return signs.length === 1 ? "" : `${signs.slice(1)} `;
    });
    result = result.replace(/(?<!\\)\[\](?=[[(])/g, "[image]");
  }
  if (!result.includes("<")) return result;
  return withoutLoadingAttributes(withoutForeignElements(result, hosts));
}

/**
 * Shows elements before the last such attribute as text: all that have attributes, because an element that is not closed, or with
 * a `>` in a value, can reach further than it seems.
 */
function withoutLoadingAttributes(text: string): string {
  let end = 0;
  let checked = 0;
  for (const { index, 0: whole, 1: quoted, 2: single, 3: bare, 4: sign } of text.matchAll(loadingAttribute)) {
    if (++checked > maxImages) {
      end = text.length;
      break;
    }
    if (sign || addressInValue.test(quoted ?? single ?? bare ?? "")) end = index + whole.length;
  }
  return end === 0 ? text : text.slice(0, end).replace(openElement, "&lt;") + text.slice(end);
}

function withoutForeignElements(text: string, hosts: readonly string[]): string {
  let out = "";
  let copiedTo = 0;
  loadingElement.lastIndex = 0;
  let elements = 0;
  for (const { index } of text.matchAll(loadingElement)) {
    if (index < copiedTo) continue;
    if (++elements > maxImages) return out + text.slice(copiedTo).replace(loadingElement, "&lt;");
    const tag = tagAt(text, index);
    if (tag !== null && isHarmless(tag, hosts)) continue;
    const link = tag && linkFor(tag);
    const before = text.slice(copiedTo, index);
    out += before + (link && before.endsWith("!") ? ` ${link}` : (link ?? "&lt;"));
    copiedTo = link && tag ? tag.end : index + 1;
  }
  return copiedTo === 0 ? text : out + text.slice(copiedTo);
}

type Tag = NonNullable<ReturnType<typeof tagAt>>;

const attributeOf = (tag: Tag, name: string) => tag.attributes.find((one) => one.name === name)?.value ?? null;

/** Whether an element only shows pictures and sounds, all from the platform's own hosts. */
function isHarmless(tag: Tag, hosts: readonly string[]): boolean {
  const isPlain = /^(?:img|picture|video|audio|source|track|input)$/.test(tag.name);
  if (!isPlain || attributeOf(tag, "style")) return false;
  const sources = tag.attributes.filter(({ name }) => /^(?:src|srcset|href|xlink:href|data|poster|content)$/.test(name));
  return tag.isEnd || sources.every(({ value }) => value !== null && isOwn(value, hosts));
}

/** A Markdown link to the source of an element; `null` if it has none. */
function linkFor(tag: Tag): string | null {
  const src = tag.isEnd ? null : attributeOf(tag, "src");
  if (!src || !/^https?:/i.test(src)) return null;
  return `[${attributeOf(tag, "alt")?.replace(/[[\]\n]/g, " ") || "image"}](${encodeURI(src)})`;
}

/** Whether an address is relative or belongs to one of the hosts. Returns false for ambiguous addresses. */
export function isOwn(address: string, hosts: readonly string[]): boolean {
  if (/\\|&(?!amp;)[#A-Za-z]/.test(address) || /^\s*[a-z][a-z0-9+.-]*:(?!\/\/)/i.test(address)) return false;
  try {
    const { protocol, hostname, username } = new URL(address, "https://relative.invalid/");
    if (hostname === "relative.invalid") return protocol === "https:";
    return (
      (protocol === "https:" || protocol === "http:") &&
      username === "" &&
      hosts.some((host) => (host.startsWith(".") ? hostname.endsWith(host) : hostname === host))
    );
  } catch {
    return false;
  }
}
