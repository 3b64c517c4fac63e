import { sanitizeText } from "@signalbox/sdk";
import type { BlockContent, ListItem, PhrasingContent, Root, TableRow } from "mdast";
import { boxOf } from "./list-box.ts";
import { maxDepth, writeMarkdown } from "./markdown.ts";
import { withoutUnseenText } from "./unseen-text.ts";
import { wikiPhrases } from "./wiki-phrases.ts";

/**
 * Converts wiki markup, the format of Server's texts and of Cloud's webhooks, to Markdown. Never throws: anything that is not
 * markup is text. Its time may grow with the square of the input, so run it in a worker thread.
 */
export function wikiToMarkdown(wiki: string): string {
  const text = withoutUnseenText(sanitizeText(wiki).replace(/\r\n?/g, "\n"));
  const root: Root = { type: "root", children: blocks(text, 0) };
  return writeMarkdown(root);
}

const macro = /\{(code|noformat|quote|panel)(?::([^}\n]{0,500}))?\}/iy;

/** Code and quotations may begin anywhere in a text. The text between them is read line by line. */
function blocks(text: string, depth: number): BlockContent[] {
  if (depth > maxDepth) return [];
  const found: BlockContent[] = [];
  const lower = text.toLowerCase();
  const openMacros = new Set<string>();
  let from = 0;
  for (let at = text.search(/[\\{]/); at >= 0 && at < text.length; at = next(text, at)) {
    if (text[at] === "\\") {
      at += 1;
      continue;
    }
    macro.lastIndex = at;
    const [whole, name = "", parameters = ""] = macro.exec(text) ?? [];
    const end = `{${name.toLowerCase()}}`;
    if (whole === undefined || openMacros.has(end)) continue;
    const close = lower.indexOf(end, at + whole.length);
    if (close < 0) {
      openMacros.add(end);
      continue;
    }
    found.push(...linesOf(text.slice(from, at), depth), makeBlock(name, parameters, text.slice(at + whole.length, close), depth));
    from = close + end.length;
    at = from - 1;
  }
  return [...found, ...linesOf(text.slice(from), depth)];
}

function next(text: string, at: number): number {
  const found = text.slice(at + 1, at + 2_000).search(/[\\{]/);
  if (found >= 0) return at + 1 + found;
  const far = text.indexOf("{", at + 1_999);
  return far;
}

function makeBlock(name: string, parameters: string, inner: string, depth: number): BlockContent {
  if (/^(quote|panel)$/i.test(name)) return { type: "blockquote", children: blocks(inner, depth + 1) };
  const lang = parameters.split("|").find((one) => /^[\w+#-]{1,30}$/.test(one)) ?? null;
  // Removes the zero-width character that markdown-to-wiki.ts inserts.
  const value = inner
    .replace(/^[^\S\n]*\n/, "")
    .replace(/\n[^\S\n]*$/, "")
    .replace(/\{\u2060(?=code|noformat|quote)/gi, "{");
  return { type: "code", lang, value };
}

interface Item {
  readonly signs: string;
  readonly lines: string[];
}
const item = /^\s*([*#]{1,20}|-{1,3})[^\S\n]+(.*)$/;

/** Reads text without macros line by line. A line of another kind ends the current block. */
function linesOf(text: string, depth: number): BlockContent[] {
  const found: BlockContent[] = [];
  let [paragraph, rows, items]: [string[], string[], Item[]] = [[], [], []];
  const flush = () => {
    if (paragraph.length > 0) found.push({ type: "paragraph", children: wikiPhrases(paragraph.join("\n"), depth) });
    if (rows.length > 0) found.push(table(rows, depth));
    if (items.length > 0) found.push(...lists(items, 1, depth));
    [paragraph, rows, items] = [[], [], []];
  };
  for (const line of text.split("\n")) {
    const listed = /^\s*-{4,}\s*$/.test(line) ? null : item.exec(line);
    if (listed) {
      if (items.length === 0) flush();
      items.push({ signs: listed[1] ?? "*", lines: [listed[2] ?? ""] });
    } else if (/^\s*\|/.test(line)) {
      if (rows.length === 0) flush();
      rows.push(line.trim());
    } else if (single(line, depth) !== null || line.trim() === "") {
      flush();
      found.push(...(single(line, depth) ?? []));
    } else if (items.length > 0) items.at(-1)?.lines.push(line.trim());
    else {
      if (rows.length > 0) flush();
      paragraph.push(line.trim());
    }
  }
  flush();
  return found.filter((one) => one.type !== "paragraph" || one.children.length > 0);
}

/** Blocks of one line; `null` for other lines. */
function single(line: string, depth: number): BlockContent[] | null {
  if (/^\s*-{4,}\s*$/.test(line)) return [{ type: "thematicBreak" }];
  const [, level, title = ""] = /^\s*h([1-6])\.\s+(.*)$/.exec(line) ?? [];
  if (level) return [{ type: "heading", depth: Number(level) as 1, children: wikiPhrases(title.trim(), depth) }];
  const [, quoted] = /^\s*bq\.\s+(.*)$/.exec(line) ?? [];
  if (quoted === undefined) return null;
  return [{ type: "blockquote", children: [{ type: "paragraph", children: wikiPhrases(quoted.trim(), depth) }] }];
}

/** `*#` is an ordered list in a bulleted one: each sign is a level. */
function lists(items: readonly Item[], level: number, depth: number): BlockContent[] {
  const found: { ordered: boolean; children: ListItem[] }[] = [];
  for (let at = 0; at < items.length; at++) {
    const { signs, lines } = items[at] as Item;
    const isOrdered = signs.charAt(level - 1) === "#";
    const open = found.at(-1);
    const last = open?.ordered === isOrdered ? open : { ordered: isOrdered, children: [] };
    if (last !== open) found.push(last);
    const inner: Item[] = [];
    const isHere = signs.length <= level || level >= maxDepth;
    for (let later = isHere ? at + 1 : at; later < items.length && (items[later] as Item).signs.length > level; later++) {
      inner.push(items[later] as Item);
    }
    at += isHere ? inner.length : inner.length - 1;
    const text = isHere ? wikiPhrases(lines.join("\n").trim(), depth) : [];
    const own: BlockContent[] = text.length > 0 ? [{ type: "paragraph", children: text }] : [];
    const checked = boxOf(own);
    const children = [...own, ...(inner.length > 0 && level < maxDepth ? lists(inner, level + 1, depth) : [])];
    last.children.push({ type: "listItem", spread: false, ...(checked === null ? {} : { checked }), children });
  }
  return found.map((one) => ({ type: "list", spread: false, ...one, ...(one.ordered ? { start: 1 } : {}) }));
}

function table(rows: readonly string[], depth: number): BlockContent {
  const children = rows.slice(0, 2_000).map(
    (row): TableRow => ({
      type: "tableRow",
      children: cellsOf(row).map((cell) => ({ type: "tableCell", children: wikiPhrases(cell.trim(), depth).map(withoutBreaks) })),
    }),
  );
  return { type: "table", children };
}

/** A cell of a Markdown table holds one line. */
const withoutBreaks = (node: PhrasingContent): PhrasingContent => (node.type === "break" ? { type: "text", value: " " } : node);

/** Splits a row at its bars, except for escaped bars and those in links and code. */
function cellsOf(row: string): string[] {
  const parts = row.replace(/^\|\|?/, "").replace(/(?<!\\)\|\|?$/, "");
  const pieces = /\\.|\{\{(?:\\.|[^\\}]){0,2000}\}\}|\[(?:\\.|[^\\\][\n]){0,2000}\]|\|\|?|[\s\S]/g;
  const cells = [""];
  for (const [piece] of parts.matchAll(pieces)) {
    if (piece === "|" || piece === "||") cells.push("");
    else cells[cells.length - 1] += piece;
  }
  return cells.slice(0, 200);
}
