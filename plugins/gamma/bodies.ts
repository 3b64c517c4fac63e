import {
  cutMarkdown,
  hasInvisibleMarker,
  invisibleMarker,
  plainMarkdown,
  sanitizeText,
  stripInvisibleMarker,
  truncate,
  valueAt,
} from "@signalbox/sdk";
import type { AdfDocument, AdfNode } from "./adf.ts";
import { firstTextOf, isAdf } from "./adf-to-markdown.ts";
import type { Convert } from "./conversions.ts";
import { plainAdf, plainWiki, textOfAdf } from "./plain-text.ts";
import type { Settings } from "./settings.ts";
import { withoutUnseenText } from "./unseen-text.ts";

/** The platform accepts 32,767 characters by default; this leaves room for a marker. */
const maxLength = 32_000;
/** Markup makes a text longer than its Markdown. A text that is too long is cut and converted again, at most this many times. */
const maxConversions = 6;
/** Longest wiki markup that is read, in characters. */
const maxWikiLength = 262_144;

/** Converts Markdown to the format of the account's platform; to plain text if that fails. */
export async function bodyOf(
  convert: Convert,
  markdown: string,
  { is_cloud }: Pick<Settings, "is_cloud">,
): Promise<AdfDocument | string> {
  const text = stripInvisibleMarker(sanitizeText(markdown));
  const shown = cutMarkdown(text, maxLength);
  if (is_cloud) return convert("markdownToAdf", shown).catch(() => plainAdf(shown));
  let limit = shown.length;
  for (let tries = 1; ; tries++) {
    const cut = cutMarkdown(text, limit);
    const wiki = await convert("markdownToWiki", cut).catch(() => plainWiki(cut));
    if (wiki.length <= maxLength) return wiki;
    if (tries === maxConversions) return truncate(wiki, maxLength);
    limit = Math.floor(Math.min(limit * 0.95, limit * (maxLength / wiki.length)));
  }
}

/** The same with the marker of `key` in front: webhooks contain the text of a comment, but not its properties. */
export const markedBody = async (
  convert: Convert,
  markdown: string,
  key: string,
  connection: Pick<Settings, "is_cloud">,
): Promise<AdfDocument | string> => withMarker(await bodyOf(convert, markdown, connection), key);

export function withMarker(body: AdfDocument | string, key: string): AdfDocument | string {
  const marker = invisibleMarker(key);
  if (typeof body === "string") {
    // Headings, lists, tables and quotations must begin a line.
    const heading = /^h[1-6]\. /.exec(body)?.[0];
    if (heading) return heading + marker + body.slice(heading.length);
    return /^(?:[*#]+ |\|\||----|\{)/.test(body) ? `${marker}\n${body}` : marker + body;
  }
  const text: AdfNode = { type: "text", text: marker };
  const [first, ...rest] = body.content;
  if (first?.type === "paragraph" || first?.type === "heading") {
    return { ...body, content: [{ ...first, content: [text, ...(first.content ?? [])] }, ...rest] };
  }
  return { ...body, content: [{ type: "paragraph", content: [text] }, ...body.content] };
}

/** Whether a body in either format begins with our marker: that of `key` if given, else any. */
export function isMarked(body: unknown, key?: string): boolean {
  if (typeof body === "string") return hasInvisibleMarker(body.replace(/^\s*h[1-6]\. /, ""), key);
  return isAdf(body) && hasInvisibleMarker(firstTextOf(body), key);
}

/** Converts a document or wiki markup to Markdown; to a code block with its text if that fails. `""` for other values. */
export async function markdownOf(convert: Convert, body: unknown): Promise<string> {
  if (typeof body === "string") {
    const start = stripInvisibleMarker(truncate(body, maxWikiLength));
    const wiki = body.length > maxWikiLength ? withoutUnseenText(sanitizeText(start), { isCut: true }) : start;
    if (wiki.trim() === "") return "";
    return withoutMarker(await convert("wikiToMarkdown", wiki).catch(() => plainMarkdown(withoutUnseenText(sanitizeText(wiki)))));
  }
  if (valueAt(body, "type") !== "doc") return "";
  return withoutMarker(await convert("adfToMarkdown", body).catch(() => plainMarkdown(textOfAdf(body))));
}

const withoutMarker = (markdown: string): string => stripInvisibleMarker(markdown).trim();
