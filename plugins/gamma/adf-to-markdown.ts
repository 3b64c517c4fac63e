import { sanitizeText, stringAt, valueAt } from "@signalbox/sdk";
import type { BlockContent, ListItem, PhrasingContent, Root, RootContent, TableRow } from "mdast";
import { boxOf } from "./list-box.ts";
import { maxDepth, writeMarkdown } from "./markdown.ts";
import { mergePhrases } from "./merge-phrases.ts";
import { isOnColour, isUnseenText } from "./unseen-text.ts";

/** Converts a document of the platform's format to Markdown. Never throws. Of unknown nodes, only the content is converted. */
export function adfToMarkdown(document: unknown): string {
  const root: Root = { type: "root", children: blocks(document, { depth: 0, onColour: false }) };
  return writeMarkdown(root);
}

export const isAdf = (value: unknown): boolean => valueAt(value, "type") === "doc";

/** The first text of a document, where a marker would be. */
export function firstTextOf(document: unknown, depth = 0): string {
  if (depth > maxDepth) return "";
  const text = valueAt(document, "text");
  if (typeof text === "string") return text;
  const [first] = contentOf(document);
  return first === undefined ? "" : firstTextOf(first, depth + 1);
}

/** Where a node is. */
interface Place {
  readonly depth: number;
  /** On a background on which white text can be seen. */
  readonly onColour: boolean;
}

const inside = (node: unknown, { depth, onColour }: Place): Place => ({ depth: depth + 1, onColour: isOnColour(node, onColour) });

function contentOf(node: unknown): readonly unknown[] {
  const content = valueAt(node, "content");
  return Array.isArray(content) ? content.slice(0, 10_000) : [];
}

function blocks(node: unknown, place: Place): BlockContent[] {
  if (place.depth > maxDepth) return [];
  const inner = inside(node, place);
  const found: BlockContent[] = [];
  let loose: PhrasingContent[] = [];
  const flush = () => {
    if (loose.length > 0) found.push({ type: "paragraph", children: loose });
    loose = [];
  };
  for (const child of contentOf(node)) {
    const result = block(child, inner);
    if (result === null) loose.push(...phrase(child, inner));
    else {
      flush();
      found.push(...result);
    }
  }
  flush();
  return found;
}

/** `null` for inline nodes. */
function block(node: unknown, place: Place): BlockContent[] | null {
  const type = valueAt(node, "type");
  switch (type) {
    case "paragraph":
      return [{ type: "paragraph", children: phrases(node, place) }];
    case "heading": {
      const level = valueAt(node, "attrs", "level");
      const rank = Number.isInteger(level) ? Math.min(6, Math.max(1, level as number)) : 1;
      return [{ type: "heading", depth: rank as 1 | 2 | 3 | 4 | 5 | 6, children: phrases(node, place) }];
    }
    case "rule":
      return [{ type: "thematicBreak" }];
    case "blockquote":
    case "panel":
      return [{ type: "blockquote", children: blocks(node, place) }];
    case "bulletList":
    case "orderedList":
    case "taskList":
    case "decisionList":
      return list(node, type === "orderedList", place);
    case "codeBlock":
      return [{ type: "code", lang: stringAt(node, ["attrs", "language"], 50), value: rawText(node) }];
    case "table":
      return table(node, place);
    case "mediaSingle":
    case "mediaGroup":
    case "expand":
    case "nestedExpand":
    case "layoutSection":
    case "layoutColumn":
    case "bodiedExtension":
      return blocks(node, place);
    case "media":
      return [
        { type: "paragraph", children: [{ type: "text", value: `(attachment ${stringAt(node, ["attrs", "alt"], 200) ?? ""})` }] },
      ];
    default:
      return valueAt(node, "content") === undefined || type === undefined ? null : blocks(node, place);
  }
}

function list(node: unknown, isOrdered: boolean, place: Place): BlockContent[] {
  const start = valueAt(node, "attrs", "order");
  const items = contentOf(node).map((item): ListItem => {
    const children = blocks(item, inside(node, place));
    const state = valueAt(item, "attrs", "state");
    const checked = valueAt(item, "type") === "taskItem" ? state === "DONE" : boxOf(children);
    return { type: "listItem", spread: false, ...(checked === null ? {} : { checked }), children };
  });
  return items.length === 0
    ? []
    : [
        {
          type: "list",
          ordered: isOrdered,
          spread: false,
          ...(Number.isInteger(start) ? { start: start as number } : {}),
          children: items,
        },
      ];
}

function table(node: unknown, place: Place): BlockContent[] {
  const rows = contentOf(node).map(
    (row): TableRow => ({
      type: "tableRow",
      children: contentOf(row).map((cell) => ({
        type: "tableCell",
        children: joinBlocks(blocks(cell, inside(row, inside(node, place)))),
      })),
    }),
  );
  return rows.length === 0 ? [] : [{ type: "table", children: rows }];
}

/** A cell of a Markdown table holds one line. */
const joinBlocks = (parts: readonly BlockContent[]): PhrasingContent[] =>
  parts.flatMap((part, index) => [
    ...(index > 0 ? [{ type: "text" as const, value: " " }] : []),
    ...("children" in part && part.type === "paragraph" ? part.children : [{ type: "text" as const, value: flat(part) }]),
  ]);

const flat = (node: RootContent | ListItem): string =>
  "value" in node ? node.value : "children" in node ? node.children.map((child) => flat(child as RootContent)).join(" ") : "";

function rawText(node: unknown): string {
  return contentOf(node)
    .map((child) => {
      const text = valueAt(child, "text");
      return typeof text === "string" ? sanitizeText(text) : "";
    })
    .join("");
}

const phrases = (node: unknown, place: Place): PhrasingContent[] =>
  place.depth > maxDepth ? [] : mergePhrases(contentOf(node).flatMap((child) => phrase(child, inside(node, place))));

function phrase(node: unknown, place: Place): PhrasingContent[] {
  const text = valueAt(node, "text");
  switch (valueAt(node, "type")) {
    case "text":
      return typeof text === "string" && text !== "" && !isUnseenText(node, place.onColour)
        ? [applyMarks(sanitizeText(text), valueAt(node, "marks"))]
        : [];
    case "hardBreak":
      return [{ type: "break" }];
    case "mention": {
      const id = stringAt(node, ["attrs", "id"], 128);
      const name = stringAt(node, ["attrs", "text"], 200) ?? `@${id ?? "unknown"}`;
      return [
        id === null
          ? { type: "text", value: name }
          : { type: "link", url: `accountid:${id}`, children: [{ type: "text", value: name }] },
      ];
    }
    case "emoji":
      return words(stringAt(node, ["attrs", "text"], 50) ?? stringAt(node, ["attrs", "shortName"], 50));
    case "status":
      return words(stringAt(node, ["attrs", "text"], 200));
    case "date": {
      const timestamp = valueAt(node, "attrs", "timestamp");
      const time = typeof timestamp === "object" ? Number.NaN : Number(timestamp);
      return words(Math.abs(time) < 8.64e15 ? new Date(time).toISOString().slice(0, 10) : null);
    }
    case "inlineCard":
    case "blockCard":
    case "embedCard": {
      const url = stringAt(node, ["attrs", "url"], 2000);
      return url === null ? [] : [{ type: "link", url, children: [{ type: "text", value: url }] }];
    }
    default:
      return phrases(node, place);
  }
}

const words = (value: string | null): PhrasingContent[] => (value === null ? [] : [{ type: "text", value }]);

/** The outermost mark first: link, then strong, then the others, code innermost. */
function applyMarks(value: string, marks: unknown): PhrasingContent {
  const list = Array.isArray(marks) ? marks : [];
  const has = (type: string) => list.some((mark) => valueAt(mark, "type") === type);
  let node: PhrasingContent = has("code") ? { type: "inlineCode", value } : { type: "text", value };
  if (has("strike")) node = { type: "delete", children: [node] };
  if (has("em")) node = { type: "emphasis", children: [node] };
  if (has("strong")) node = { type: "strong", children: [node] };
  const href = list
    .map((mark) => (valueAt(mark, "type") === "link" ? valueAt(mark, "attrs", "href") : undefined))
    .find((url) => typeof url === "string");
  return typeof href === "string" ? { type: "link", url: sanitizeText(href), children: [node] } : node;
}
