import { CodeLines } from "../platform/markdown/code-lines.ts";
import { fenceLine } from "./fence-line.ts";
import { IndentedCode } from "./indented-code.ts";

const definition = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*\[\^([^\]\s]{1,999})\]:/;
const reference = /(?<!\\)\[\^([^\]\s]{1,999})\]/g;
const codeSpan = /(?<!`)(`{1,5})(?!`)(?:[^`\n]|\n(?![ \t]*\n))+\1(?!`)/g;
/** A line that ends the paragraph of a footnote. */
const otherBlock =
  /^[ \t]{0,3}(?:\[[^\]]*\]:|#{1,6}[ \t]|[-*+][ \t]|>|1[.)][ \t]|`{3,}[^`]*$|~~~|<(?:!--|pre\b|\/?(?:div|p|table|details|ul|ol|h[1-6]|blockquote|summary|section)\b))/;

interface FootnoteOptions {
  readonly isCut: boolean;
  /** Platforms show none of them. */
  readonly areHidden: boolean;
}

/** The text without the footnotes that nothing refers to, because platforms do not show them. */
export function withoutUnusedFootnotes(text: string, { isCut, areHidden }: FootnoteOptions): string {
  if (!text.includes("[^")) return text;
  const code = new CodeLines(text, isCut);
  const indented = new IndentedCode();
  const lines: { readonly line: string; readonly footnote: string | null }[] = [];
  /** The text outside of footnotes, then that of each footnote. Of several with the same label, platforms show the first. */
  const prose = new Map<string | null, string[]>([[null, []]]);
  let current = prose.get(null);
  let footnote: string | null = null;
  let isAfterBlank = false;
  let isAfterOpenFence = false;
  for (let start = 0; start <= text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    const line = text.slice(start, end);
    const isBlank = /^[ \t>]*$/.test(line);
    // Both must see each line.
    const isCode = [code.isCode(start, end), indented.isCode(line, isBlank)].includes(true);
    const found = isCode ? null : definition.exec(line);
    isAfterOpenFence ||= !isCode && fenceLine(line) !== null;
    if (found) {
      footnote = (found[1] ?? "").toLowerCase();
      current = prose.has(footnote) ? undefined : [];
      if (current) prose.set(footnote, current);
    } else if (!isBlank && !/^(?: {4}|\t)/.test(line) && (isAfterBlank || otherBlock.test(line))) {
      footnote = null;
      current = prose.get(null);
    }
    const isDecided = !isAfterOpenFence && !(isCut && next < 0);
    if (!isCode && isDecided) current?.push(line.slice(found?.[0].length ?? 0));
    lines.push({ line, footnote });
    isAfterBlank = isBlank;
    start = end + 1;
  }
  const shown = areHidden ? new Set([null]) : footnotesIn(prose);
  const kept = lines.filter((one) => shown.has(one.footnote));
  return kept.length === lines.length ? text : kept.map(({ line }) => line).join("\n");
}

/** The labels that the text refers to, also from within footnotes that are shown. `null` is the text itself. */
function footnotesIn(prose: ReadonlyMap<string | null, readonly string[]>): Set<string | null> {
  const shown = new Set<string | null>([null]);
  // Labels that are added here are visited too.
  for (const from of shown) {
    const text = (prose.get(from) ?? []).join("\n").replace(codeSpan, "");
    for (const [, label = ""] of text.matchAll(reference)) shown.add(label.toLowerCase());
  }
  return shown;
}
