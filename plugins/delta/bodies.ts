import {
  cutMarkdown,
  invisibleMarker,
  plainMarkdown,
  plainNote,
  sanitizeText,
  stripInvisibleMarker,
  textOfMarkup,
  truncate,
} from "@signalbox/sdk";
import type { Convert } from "./conversions.ts";

/** Longest text that is posted, in characters; the platform documents no limit. */
const maxLength = 100_000;
/** Longest HTML that is read, in characters. */
const maxHtmlLength = 262_144;

/** Converts Markdown to the platform's HTML; to plain text if that fails. */
export async function htmlOf(convert: Convert, markdown: string): Promise<string> {
  const text = stripInvisibleMarker(sanitizeText(markdown));
  const shown = cutMarkdown(text, maxLength);
  return convert("markdownToHtml", shown).catch(() => plainHtml(shown));
}

/** The same with the marker of `key` in front: not every webhook contains a comment's external id, but all contain its text. */
export const markedHtml = async (convert: Convert, markdown: string, key: string): Promise<string> =>
  withMarker(await htmlOf(convert, markdown), key);

export function withMarker(html: string, key: string): string {
  const marker = invisibleMarker(key);
  const first = /^<(?:p|h[1-6])>/.exec(html)?.[0];
  return first ? first + marker + html.slice(first.length) : `<p>${marker}</p>\n${html}`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Text as HTML that shows it unchanged. */
export function plainHtml(text: string): string {
  const escaped = text.replace(/[&<>]/g, (sign) => entities[sign] as string).replaceAll("\n", "<br>");
  return `<p><em>${plainNote}</em></p>\n<p>${escaped}</p>`;
}

/** Converts the platform's HTML to Markdown; to a code block with its text if that fails. */
export async function markdownOf(convert: Convert, html: string): Promise<string> {
  const text = sanitizeText(truncate(html, maxHtmlLength));
  if (text.trim() === "") return "";
  const markdown = await convert("htmlToMarkdown", text).catch(() => plainMarkdown(textOfMarkup(text)));
  return stripInvisibleMarker(markdown).trim();
}
