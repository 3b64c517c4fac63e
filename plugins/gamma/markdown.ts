import { isTangled } from "@signalbox/sdk";
import type { Definition, Nodes, PhrasingContent, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown, gfmToMarkdown } from "mdast-util-gfm";
import { toMarkdown } from "mdast-util-to-markdown";
import { gfm } from "micromark-extension-gfm";

/** Deeper than anybody writes. What lies below is left out: readers of the platform refuse it, and stacks end. */
export const deepest = 40;

/** Text that would hold up the process comes as one block of code. */
export const parseMarkdown = (markdown: string): Root =>
  isTangled(markdown)
    ? { type: "root", children: [{ type: "code", value: markdown }] }
    : fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

export const writeMarkdown = (root: Root): string =>
  toMarkdown(root, { extensions: [gfmToMarkdown({ tablePipeAlign: false })], bullet: "-", rule: "-", fences: true }).trim();

/** Addresses of `[text][name]`, by name. */
export function definitionsOf(root: Root): ReadonlyMap<string, Definition> {
  const found = new Map<string, Definition>();
  const walk = (node: Nodes, depth: number): void => {
    if (node.type === "definition" && !found.has(node.identifier)) found.set(node.identifier, node);
    if ("children" in node && depth < deepest) for (const child of node.children) walk(child, depth + 1);
  };
  walk(root, 0);
  return found;
}

/** Addresses that may be linked; others stand as text, because they could run something in the reader's browser. */
export const isSafeLink = (url: string): boolean => /^(https?:\/\/|mailto:|tel:|ftp:\/\/)/i.test(url.trim());

/** HTML is text to these platforms; comments in it are for nobody's eyes, and a line break is one. */
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
