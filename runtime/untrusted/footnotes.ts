import { CodeLines } from "../platform/markdown/code-lines.ts";
import { fenceLine } from "./fence-line.ts";

const definition = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*\[\^([^\]\s]{1,999})\]:/;
const reference = /(?<!\\)\[\^([^\]\s]{1,999})\]/g;
const codeSpan = /(?<!`)(`{1,5})(?!`)(?:[^`\n]|\n(?![ \t]*\n))+\1(?!`)/g;
/** A line that ends the paragraph of a footnote. */
const otherBlock =
  /^[ \t]{0,3}(?:\[[^\]]*\]:|#{1,6}[ \t]|[-*+][ \t]|>|1[.)][ \t]|```|~~~|<(?:!--|\/?(?:div|p|table|details|pre|ul|ol|h[1-6]|blockquote|summary|section)\b))/;

/** The text without the footnotes that nothing refers to, because platforms do not show them. */
export function withoutUnusedFootnotes(text: string, isCut = false): string {
  if (!text.includes("[^")) return text;
  const code = new CodeLines(text, isCut);
  const lines: { readonly line: string; readonly footnote: string | null }[] = [];
  let prose = "";
  let footnote: string | null = null;
  let isAfterBlank = false;
  let isAfterOpenFence = false;
  for (let start = 0; start <= text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    const line = text.slice(start, end);
    const isCode = code.isCode(start, end);
    const isBlank = /^[ \t>]*$/.test(line);
    const label = isCode ? undefined : definition.exec(line)?.[1];
    isAfterOpenFence ||= !isCode && fenceLine(line) !== null;
    if (label !== undefined) footnote = label.toLowerCase();
    else if (!isBlank && !/^(?: {4}|\t)/.test(line) && (isAfterBlank || otherBlock.test(line))) footnote = null;
    const isDecided = !isAfterOpenFence && !(isCut && next < 0);
    if (footnote === null && !isCode && isDecided) prose += `${line}\n`;
    lines.push({ line, footnote });
    isAfterBlank = isBlank;
    start = end + 1;
  }
  const referred = new Set([...prose.replace(codeSpan, "").matchAll(reference)].map(([, label = ""]) => label.toLowerCase()));
  const shown = lines.filter((one) => one.footnote === null || referred.has(one.footnote));
  return shown.length === lines.length ? text : shown.map(({ line }) => line).join("\n");
}
