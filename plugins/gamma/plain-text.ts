import { plainNote, sanitizeText, valueAt } from "@signalbox/sdk";
import type { AdfDocument, AdfNode } from "./adf.ts";
import { escapedWiki } from "./markdown-to-wiki.ts";
import { isOnColour, isUnseenText } from "./unseen-text.ts";

/** The text without formatting, for use if a conversion fails. All functions here take linear time. */

/** A text with more lines than this becomes one code block, because the platform limits the size of a document. */
const maxLines = 1_000;

/** Text as a document that shows it unchanged. */
export function plainAdf(text: string): AdfDocument {
  const lines = text.split("\n");
  const note: AdfNode = { type: "paragraph", content: [{ type: "text", text: plainNote, marks: [{ type: "em" }] }] };
  if (lines.length > maxLines)
    return { type: "doc", version: 1, content: [note, { type: "codeBlock", attrs: {}, content: [{ type: "text", text }] }] };
  const content = lines.flatMap((line, index): AdfNode[] => [
    ...(index > 0 ? [{ type: "hardBreak" }] : []),
    ...(line === "" ? [] : [{ type: "text", text: line }]),
  ]);
  return { type: "doc", version: 1, content: [note, { type: "paragraph", content }] };
}

/** Text as wiki markup that shows it unchanged. */
export const plainWiki = (text: string): string =>
  `${plainNote}\n\n${text
    .split("\n")
    .map((line) => {
      const words = line.trimStart();
      return line.slice(0, line.length - words.length) + escapedWiki(words);
    })
    .join("\n")}`;

const maxLength = 262_144;
const maxNodes = 100_000;

/** The text of a document that readers see, with a line per block. Does not use the stack, so any depth is read. */
export function textOfAdf(document: unknown): string {
  const parts: string[] = [];
  const waiting: { readonly node: unknown; readonly outside: boolean }[] = [{ node: document, outside: false }];
  let length = 0;
  for (let count = 0; count < maxNodes && length < maxLength; count++) {
    const next = waiting.pop();
    if (next === undefined) break;
    const { node, outside } = next;
    const text = valueAt(node, "text");
    if (typeof text === "string") {
      if (isUnseenText(node, outside)) continue;
      parts.push(text);
      length += text.length;
      continue;
    }
    const content = valueAt(node, "content");
    const onColour = isOnColour(node, outside);
    if (Array.isArray(content))
      for (let index = Math.min(content.length, maxNodes) - 1; index >= 0; index--)
        waiting.push({ node: content[index], outside: onColour });
    if (["paragraph", "heading", "codeBlock", "hardBreak", "tableRow"].includes(String(valueAt(node, "type")))) parts.push("\n");
  }
  return sanitizeText(parts.join("")).trim();
}
