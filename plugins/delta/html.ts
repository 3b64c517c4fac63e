import { invisibleMarker, isTangled, sanitizeText, stripInvisibleMarker, truncate } from "@signalbox/sdk";
import type { Element, Root as HtmlRoot, RootContent } from "hast";
import { fromHtml } from "hast-util-from-html";
import { defaultSchema, sanitize } from "hast-util-sanitize";
import { toHtml } from "hast-util-to-html";
import { toMdast } from "hast-util-to-mdast";
import type { ListItem, Nodes, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown, gfmToMarkdown } from "mdast-util-gfm";
import { toHast } from "mdast-util-to-hast";
import { toMarkdown } from "mdast-util-to-markdown";
import { gfm } from "micromark-extension-gfm";

/** The platform publishes no limit; what is longer than this nobody reads. */
const longest = 100_000;
/** Deeper than anybody writes; what lies below is left out, because stacks end. */
const deepest = 60;

/** Only these may stand in what is posted: no styles, no ids, no scripts, links to safe addresses alone. */
const allowed = {
  ...defaultSchema,
  clobberPrefix: "",
  attributes: { a: ["href"], code: [["className", /^language-[\w+#-]{1,30}$/] as [string, RegExp]], ol: ["start"] },
};

/** Markdown as HTML that the platform takes: sanitised, HTML in the Markdown is shown as text. */
export function markdownToHtml(markdown: string): string {
  const text = stripInvisibleMarker(sanitizeText(markdown));
  const note = `> **Cut off.** This text has ${markdown.length} characters; ${longest} are shown. The end is missing.\n\n`;
  const shown = text.length <= longest ? text : note + truncate(text, longest - note.length);
  // Text that would hold up the process comes as one block of code.
  const root: Root = isTangled(shown)
    ? { type: "root", children: [{ type: "code", value: shown }] }
    : fromMarkdown(shown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  readable(root, 0);
  return toHtml(sanitize(toHast(root), allowed) as HtmlRoot);
}

/** HTML with the marker of `key` in front: not all webhooks tell a comment's external id, but they tell its text. */
export function markedHtml(markdown: string, key: string): string {
  const html = markdownToHtml(markdown);
  const marker = invisibleMarker(key);
  const first = /^<(?:p|h[1-6])>/.exec(html)?.[0];
  return first ? first + marker + html.slice(first.length) : `<p>${marker}</p>\n${html}`;
}

/** HTML nodes become text, boxes become `[x] `, and what is too deep goes. */
function readable(node: Nodes, depth: number): void {
  if (!("children" in node)) return;
  if (depth > deepest) {
    node.children = [];
    return;
  }
  node.children = node.children.flatMap((child): Nodes[] => {
    if (child.type === "listItem") boxed(child);
    if (child.type !== "html") return [child];
    const value = child.value.replace(/<!--[\s\S]*?(-->|$)/g, "");
    if (/^<br\s*\/?>$/i.test(value.trim()) && node.type !== "root") return [{ type: "break" }];
    const text = { type: "text" as const, value };
    if (value.trim() === "") return [];
    return [node.type === "paragraph" || !isFlow(node.type) ? text : { type: "paragraph", children: [text] }];
  }) as never;
  for (const child of node.children as readonly Nodes[]) readable(child, depth + 1);
}

const isFlow = (type: string): boolean => ["root", "blockquote", "listItem", "footnoteDefinition"].includes(type);

function boxed(item: ListItem): void {
  if (typeof item.checked !== "boolean") return;
  const box = { type: "text" as const, value: item.checked ? "[x] " : "[ ] " };
  item.checked = null;
  const [first] = item.children;
  if (first?.type === "paragraph") first.children.unshift(box);
  else item.children.unshift({ type: "paragraph", children: [box] });
}

/** The platform's HTML as Markdown. Never throws: what is too tangled is shown as bare text. */
export function htmlToMarkdown(html: string): string {
  const text = sanitizeText(truncate(html, 262_144));
  try {
    const tree = fromHtml(text, { fragment: true });
    for (const child of tree.children) mentions(child, tree, 0);
    const root = toMdast(sanitize(tree, defaultSchema) as HtmlRoot) as Root;
    boxesOf(root, 0);
    const written = toMarkdown(root, {
      extensions: [gfmToMarkdown({ tablePipeAlign: false })],
      bullet: "-",
      rule: "-",
      fences: true,
    });
    return stripInvisibleMarker(written).trim();
  } catch {
    return bareText(text);
  }
}

/** The text of HTML, without its tags, as far as its beginning goes: enough to see a marker. */
export const bareText = (html: string): string =>
  html
    .replace(/<[^>]*>/g, " ")
    .replace(/&nbsp;/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** The platform's own element for people and things that are mentioned. */
function mentions(node: RootContent, parent: HtmlRoot | Element, depth: number): void {
  if (node.type !== "element") return;
  if (depth > 500) throw new RangeError("too deep");
  if (node.tagName === "mention-component") {
    const { label, title, entityIdentifier, entity_identifier } = node.properties as Record<string, unknown>;
    const name = [label, title, entityIdentifier, entity_identifier].find((value) => typeof value === "string") ?? "somebody";
    parent.children.splice(parent.children.indexOf(node as never), 1, { type: "text", value: `@${name}` } as never);
    return;
  }
  for (const child of [...node.children]) mentions(child as RootContent, node, depth + 1);
}

function boxesOf(node: Nodes, depth: number): void {
  if (!("children" in node) || depth > 200) return;
  if (node.type === "listItem") {
    const [first] = node.children;
    const text = first?.type === "paragraph" ? first.children[0] : undefined;
    const box = text?.type === "text" ? /^\[([ x])\] /.exec(text.value) : null;
    if (box && text?.type === "text") {
      text.value = text.value.slice(4);
      node.checked = box[1] === "x";
    }
  }
  for (const child of node.children) boxesOf(child as Nodes, depth + 1);
}
