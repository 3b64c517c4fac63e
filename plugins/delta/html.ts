import { backgroundsOf, isHiddenElement, showsWhiteText } from "@signalbox/sdk";
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

/** Maximum nesting. Deeper content is left out, because recursion must end. */
const maxDepth = 60;

/** Maximum number of rows and columns of a cell, because a table in Markdown has a cell for each. */
const maxSpan = 50;

/** HTML that may be posted: no styles, ids or scripts, and only links to safe URLs. */
const allowedMarkup = {
  ...defaultSchema,
  clobberPrefix: "",
  attributes: { a: ["href"], code: [["className", /^language-[\w+#-]{1,30}$/] as [string, RegExp]], ol: ["start"] },
};

/** Markdown as the platform's HTML: sanitised, with HTML in the Markdown shown as text. */
export function markdownToHtml(markdown: string): string {
  const root: Root = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  readable(root, 0);
  return toHtml(sanitize(toHast(root), allowedMarkup) as HtmlRoot);
}

/** Turns HTML nodes into text and checkboxes into `[x] `, and drops what is nested too deep. */
function readable(node: Nodes, depth: number): void {
  if (!("children" in node)) return;
  if (depth > maxDepth) {
    node.children = [];
    return;
  }
  node.children = node.children.flatMap((child): Nodes[] => {
    if (child.type === "listItem") addCheckbox(child);
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

function addCheckbox(item: ListItem): void {
  if (typeof item.checked !== "boolean") return;
  const box = { type: "text" as const, value: item.checked ? "[x] " : "[ ] " };
  item.checked = null;
  const [first] = item.children;
  if (first?.type === "paragraph") first.children.unshift(box);
  else item.children.unshift({ type: "paragraph", children: [box] });
}

/** The platform's HTML as Markdown. Throws a `RangeError` if it is nested too deep. */
export function htmlToMarkdown(html: string): string {
  const tree = fromHtml(html, { fragment: true });
  for (const child of [...tree.children]) mentions(child, tree, 0);
  const root = toMdast(sanitize(tree, defaultSchema) as HtmlRoot) as Root;
  boxesOf(root, 0);
  const extensions = [gfmToMarkdown({ tablePipeAlign: false })];
  return toMarkdown(root, { extensions, bullet: "-", rule: "-", fences: true }).trim();
}

/** Whether an element is invisible to people, so its text is not part of what they wrote. */
const isHidden = ({ tagName, properties }: Element, onColour: boolean): boolean =>
  isHiddenElement(
    tagName,
    Object.entries(properties).flatMap(([name, value]) =>
      value === false || value === undefined || value === null ? [] : [[name, String(value)] as const],
    ),
    { onColour },
  );

/** Turns the platform's mention elements into text, removes hidden elements, and limits the size of cells. */
function mentions(node: RootContent, parent: HtmlRoot | Element, depth: number, outside = false): void {
  if (node.type !== "element") return;
  if (depth > 500) throw new RangeError("too deep");
  const onColour = showsWhiteText(backgroundsOf(String(node.properties.style ?? ""))) ?? outside;
  if (isHidden(node, onColour)) {
    parent.children.splice(parent.children.indexOf(node as never), 1);
    return;
  }
  if (node.tagName === "mention-component") {
    const { label, title, entityIdentifier, entity_identifier } = node.properties as Record<string, unknown>;
    const name = [label, title, entityIdentifier, entity_identifier].find((value) => typeof value === "string") ?? "unknown";
    parent.children.splice(parent.children.indexOf(node as never), 1, { type: "text", value: `@${name}` } as never);
    return;
  }
  for (const span of ["colSpan", "rowSpan"])
    if (Number.parseInt(String(node.properties[span]), 10) > maxSpan) node.properties[span] = maxSpan;
  for (const child of [...node.children]) mentions(child as RootContent, node, depth + 1, onColour);
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
