import type { Definition, Nodes, PhrasingContent, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown, gfmToMarkdown } from "mdast-util-gfm";
import { toMarkdown } from "mdast-util-to-markdown";
import { gfm } from "micromark-extension-gfm";

/** Maximum nesting. Deeper content is left out: the platform refuses it, and recursion must end. */
export const maxDepth = 40;

export const parseMarkdown = (markdown: string): Root =>
  fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

export const writeMarkdown = (root: Root): string =>
  toMarkdown(root, { extensions: [gfmToMarkdown({ tablePipeAlign: false })], bullet: "-", rule: "-", fences: true }).trim();

/** URLs of `[text][name]`, by name. */
export function definitionsOf(root: Root): ReadonlyMap<string, Definition> {
  const found = new Map<string, Definition>();
  const walk = (node: Nodes, depth: number): void => {
    if (node.type === "definition" && !found.has(node.identifier)) found.set(node.identifier, node);
    if ("children" in node && depth < maxDepth) for (const child of node.children) walk(child, depth + 1);
  };
  walk(root, 0);
  return found;
}

/** Whether a URL may be a link. Others become text, because they could run code in the reader's browser. */
export const isSafeLink = (url: string): boolean => /^(https?:\/\/|mailto:|tel:|ftp:\/\/)/i.test(url.trim());

/** HTML becomes text, without its comments. `null` for a line break. */
export function textOfHtml(html: string): string | null {
  if (/^<br\s*\/?>$/i.test(html.trim())) return null;
  return html.replace(/<!--[\s\S]*?(-->|$)/g, "");
}

/** The text of nodes without their marks. */
export const plain = (nodes: readonly PhrasingContent[]): string =>
  nodes
    .map((node) =>
      "value" in node ? node.value : "children" in node ? plain(node.children) : "alt" in node ? (node.alt ?? "") : "",
    )
    .join("");
