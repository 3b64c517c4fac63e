import type { BlockContent, Definition, DefinitionContent, List, ListItem, PhrasingContent, RootContent, Table } from "mdast";
import type { AdfDocument, AdfMark, AdfNode } from "./adf.ts";
import { definitionsOf, isSafeLink, maxDepth, parseMarkdown, plain, textOfHtml } from "./markdown.ts";

type Definitions = ReadonlyMap<string, Definition>;
/** `inner`: inside a quotation, list or cell, where the format allows only paragraphs, lists and code. */
interface Place {
  readonly definitions: Definitions;
  readonly inner: boolean;
  readonly depth: number;
}

/** Converts Markdown to a document of the platform's format that contains only known nodes. */
export function markdownToAdf(markdown: string): AdfDocument {
  const root = parseMarkdown(markdown);
  const content = blocks(root.children, { definitions: definitionsOf(root), inner: false, depth: 0 });
  return { type: "doc", version: 1, content };
}

const blocks = (nodes: readonly (RootContent | BlockContent | DefinitionContent)[], place: Place): AdfNode[] =>
  place.depth > maxDepth ? [] : nodes.flatMap((node) => block(node, { ...place, depth: place.depth + 1 }));

function block(node: RootContent | BlockContent | DefinitionContent, place: Place): AdfNode[] {
  switch (node.type) {
    case "paragraph":
      return paragraph(inline(node.children, [], place));
    case "heading": {
      const level = node.depth;
      if (place.inner) return paragraph(inline(node.children, [{ type: "strong" }], place));
      return [{ type: "heading", attrs: { level }, content: inline(node.children, [], place) }];
    }
    case "thematicBreak":
      return place.inner ? [] : [{ type: "rule" }];
    case "blockquote": {
      const content = blocks(node.children, { ...place, inner: true });
      return place.inner || content.length === 0 ? content : [{ type: "blockquote", content }];
    }
    case "list":
      return list(node, place);
    case "code": {
      const attrs = node.lang ? { language: node.lang } : {};
      return [{ type: "codeBlock", attrs, content: node.value === "" ? [] : [{ type: "text", text: node.value }] }];
    }
    case "table":
      return table(node, place);
    case "html":
      return paragraph(text(textOfHtml(node.value)?.trim() ?? "", []));
    case "footnoteDefinition":
      return paragraph([
        ...text(`[${node.label ?? node.identifier}] `, []),
        ...node.children.flatMap((child) => lines(child, place)),
      ]);
    default:
      return [];
  }
}

const lines = (node: BlockContent | DefinitionContent, place: Place): AdfNode[] =>
  node.type === "paragraph" ? inline(node.children, [], place) : [];

const paragraph = (content: readonly AdfNode[]): AdfNode[] => (content.length === 0 ? [] : [{ type: "paragraph", content }]);

function list(node: List, place: Place): AdfNode[] {
  const content = node.children.map((item) => listItem(item, place));
  if (content.length === 0) return [];
  if (!node.ordered) return [{ type: "bulletList", content }];
  return [{ type: "orderedList", attrs: { order: node.start ?? 1 }, content }];
}

/** The first part of an item must be a paragraph or code. */
function listItem(item: ListItem, place: Place): AdfNode {
  const content = blocks(item.children, { ...place, inner: true });
  const box = typeof item.checked === "boolean" ? text(item.checked ? "[x] " : "[ ] ", []) : [];
  const [first, ...rest] = content;
  if (first?.type === "paragraph") {
    return { type: "listItem", content: [{ ...first, content: [...box, ...(first.content ?? [])] }, ...rest] };
  }
  if (first?.type === "codeBlock" && box.length === 0) return { type: "listItem", content };
  return { type: "listItem", content: [{ type: "paragraph", content: box }, ...content] };
}

/** A table inside another block becomes lines of text, because the format does not allow it there. */
function table(node: Table, place: Place): AdfNode[] {
  if (place.inner) {
    return node.children.flatMap((row) =>
      paragraph(row.children.flatMap((cell, at) => [...text(at > 0 ? " | " : "", []), ...inline(cell.children, [], place)])),
    );
  }
  const content = node.children.map((row, at) => ({
    type: "tableRow",
    content: row.children.map((cell) => ({
      type: at === 0 ? "tableHeader" : "tableCell",
      content: [{ type: "paragraph", content: inline(cell.children, [], place) }],
    })),
  }));
  return [{ type: "table", content }];
}

const inline = (nodes: readonly PhrasingContent[], marks: readonly AdfMark[], place: Place): AdfNode[] =>
  place.depth > maxDepth ? [] : nodes.flatMap((node) => phrase(node, marks, { ...place, depth: place.depth + 1 }));

function phrase(node: PhrasingContent, marks: readonly AdfMark[], place: Place): AdfNode[] {
  switch (node.type) {
    case "text":
      return text(node.value.replace(/(?<!\s)\s*\n\s*/g, " "), marks);
    case "emphasis":
      return inline(node.children, add(marks, "em"), place);
    case "strong":
      return inline(node.children, add(marks, "strong"), place);
    case "delete":
      return inline(node.children, add(marks, "strike"), place);
    case "inlineCode":
      // The format allows code together with a link, but not with other marks.
      return text(node.value, [...marks.filter((mark) => mark.type === "link"), { type: "code" }]);
    case "break":
      return [{ type: "hardBreak" }];
    case "link":
      return link(node.url, node.children, marks, place);
    case "linkReference":
      return link(place.definitions.get(node.identifier)?.url ?? "", node.children, marks, place);
    case "image":
      return link(node.url, [{ type: "text", value: node.alt || node.url }], marks, place);
    case "imageReference":
      return link(place.definitions.get(node.identifier)?.url ?? "", [{ type: "text", value: node.alt ?? "" }], marks, place);
    case "footnoteReference":
      return text(`[${node.label ?? node.identifier}]`, marks);
    case "html": {
      const shown = textOfHtml(node.value);
      return shown === null ? [{ type: "hardBreak" }] : text(shown, marks);
    }
    default:
      return [];
  }
}

/** `[@Ann](accountid:5f0c)` becomes a mention; incoming mentions have the same form. */
function link(url: string, children: readonly PhrasingContent[], marks: readonly AdfMark[], place: Place): AdfNode[] {
  const account = /^accountid:([\w:-]{1,128})$/.exec(url)?.[1];
  if (account !== undefined) return [{ type: "mention", attrs: { id: account, text: plain(children) } }];
  if (!isSafeLink(url)) return inline(children, marks, place);
  const other = marks.filter((mark) => mark.type !== "link");
  return inline(children, [...other, { type: "link", attrs: { href: url.trim() } }], place);
}

const add = (marks: readonly AdfMark[], type: string): readonly AdfMark[] =>
  marks.some((mark) => mark.type === type) ? marks : [...marks, { type }];

const text = (value: string, marks: readonly AdfMark[]): AdfNode[] =>
  value === "" ? [] : [{ type: "text", text: value, ...(marks.length > 0 ? { marks } : {}) }];
