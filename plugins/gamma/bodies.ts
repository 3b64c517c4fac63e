import { hasInvisibleMarker, invisibleMarker, sanitizeText, stripInvisibleMarker, truncate, valueAt } from "@signalbox/sdk";
import type { AdfDocument, AdfNode } from "./adf.ts";
import { adfToMarkdown, firstTextOf, isAdf } from "./adf-to-markdown.ts";
import { markdownToAdf } from "./markdown-to-adf.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";
import type { Settings } from "./settings.ts";
import { wikiToMarkdown } from "./wiki-to-markdown.ts";

/** Characters that the platform takes in a text. */
const longest = 32_767;
/** Escapes make a wiki text longer than its Markdown. */
const longestMarkdown = { cloud: 32_000, server: 16_000 };

/** Markdown in the format of the account's platform. */
export function bodyOf(markdown: string, { is_cloud }: Pick<Settings, "is_cloud">): AdfDocument | string {
  const limit = is_cloud ? longestMarkdown.cloud : longestMarkdown.server;
  const text = stripInvisibleMarker(sanitizeText(markdown));
  const note = `> **Cut off.** This text has ${markdown.length} characters; ${limit} are shown. The end is missing.\n\n`;
  const shown = text.length <= limit ? text : note + truncate(text, limit - note.length);
  return is_cloud ? markdownToAdf(shown) : truncate(markdownToWiki(shown), longest);
}

/** A body with the marker of `key` in front. Webhooks tell no properties of a comment, but they tell its text. */
export function markedBody(markdown: string, key: string, connection: Pick<Settings, "is_cloud">): AdfDocument | string {
  const body = bodyOf(markdown, connection);
  const marker = invisibleMarker(key);
  if (typeof body === "string") {
    // A heading must stay at the beginning of its line, and so must lists, tables and quotations.
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

/** Whether a body in whichever format begins with our marker, that of `key` where one is given. */
export function isMarked(body: unknown, key?: string): boolean {
  if (typeof body === "string") return hasInvisibleMarker(body.replace(/^\s*h[1-6]\. /, ""), key);
  return isAdf(body) && hasInvisibleMarker(firstTextOf(body), key);
}

/** Any body as Markdown: a document, or wiki markup, which is what webhooks tell of Cloud's texts too. `""` for what is no text. */
export function markdownOf(body: unknown): string {
  const text =
    typeof body === "string"
      ? wikiToMarkdown(stripInvisibleMarker(truncate(body, 262_144)))
      : valueAt(body, "type") === "doc"
        ? adfToMarkdown(body)
        : "";
  return stripInvisibleMarker(text).trim();
}
