import type { BlockContent, Definition, DefinitionContent, List, PhrasingContent, RootContent } from "mdast";
import { definitionsOf, isSafeLink, maxDepth, parseMarkdown, plain, textOfHtml } from "./markdown.ts";
import { emoticons } from "./wiki-signs.ts";

type Block = RootContent | BlockContent | DefinitionContent;
interface Place {
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly depth: number;
  /** The platform does not allow a quotation inside a quotation. */
  readonly quoted?: boolean;
}

/**
 * Converts Markdown to the wiki markup of Server and Data Center. Every special character is escaped, so text cannot become
 * markup.
 */
export function markdownToWiki(markdown: string): string {
  const root = parseMarkdown(markdown);
  return blocks(root.children, { definitions: definitionsOf(root), depth: 0 }, "\n\n");
}

const blocks = (nodes: readonly Block[], place: Place, between: string): string =>
  place.depth > maxDepth
    ? ""
    : nodes
        .map((node) => block(node, { ...place, depth: place.depth + 1 }))
        .filter((part) => part !== "")
        .join(between);

function block(node: Block, place: Place): string {
  switch (node.type) {
    case "paragraph":
      return inline(node.children, place);
    case "heading":
      return `h${node.depth}. ${inline(node.children, place).replaceAll("\n", " ")}`;
    case "thematicBreak":
      return "----";
    case "blockquote":
      return place.quoted
        ? blocks(node.children, place, "\n\n")
        : `{quote}\n${blocks(node.children, { ...place, quoted: true }, "\n\n")}\n{quote}`;
    case "list":
      return list(node, "", place);
    case "code":
      return code(node.value, node.lang ?? "");
    case "table":
      return node.children
        .map((row, at) => {
          const bar = at === 0 ? "||" : "|";
          return `${bar}${row.children.map((cell) => inline(cell.children, place).replaceAll("\n", " ") || " ").join(bar)}${bar}`;
        })
        .join("\n");
    case "html":
      return escapedWiki(textOfHtml(node.value)?.trim() ?? "");
    case "footnoteDefinition":
      return `\\[${escapedWiki(node.label ?? node.identifier)}\\] ${blocks(node.children, place, " ")}`;
    default:
      return "";
  }
}

/** Code is not escaped, so a zero-width character breaks up macro names that would end it. */
function code(value: string, language: string): string {
  const safe = value.replace(/\{(code|noformat|quote)/gi, "{\u2060$1");
  const lang = /^[A-Za-z0-9+#]{1,30}$/.test(language) ? `:${language}` : "";
  return `{code${lang}}\n${safe}\n{code}`;
}

function list(node: List, before: string, place: Place): string {
  const sign = `${before}${node.ordered ? "#" : "*"}`;
  return node.children
    .map((item) => {
      const box = typeof item.checked === "boolean" ? (item.checked ? "\\[x\\] " : "\\[ \\] ") : "";
      const parts = item.children.map((child) =>
        child.type === "list" && place.depth < maxDepth
          ? list(child, sign, { ...place, depth: place.depth + 1 })
          : block(child, { ...place, depth: place.depth + 1 }),
      );
      const [first = "", ...rest] = parts;
      return [item.children[0]?.type === "list" ? `${sign} \n${first}` : `${sign} ${box}${first}`, ...rest].join("\n");
    })
    .join("\n");
}

const inline = (nodes: readonly PhrasingContent[], place: Place): string =>
  place.depth > maxDepth ? "" : nodes.map((node) => phrase(node, { ...place, depth: place.depth + 1 })).join("");

function phrase(node: PhrasingContent, place: Place): string {
  switch (node.type) {
    case "text":
      return escapedWiki(node.value.replace(/(?<!\s)\s*\n\s*/g, " "));
    case "emphasis":
      return wrapIn("_", inline(node.children, place));
    case "strong":
      return wrapIn("*", inline(node.children, place));
    case "delete":
      return wrapIn("-", inline(node.children, place));
    case "inlineCode":
      return `{{${escapedWiki(node.value)}}}`;
    case "break":
      return "\n";
    case "link":
      return link(node.url, node.children, place);
    case "linkReference":
      return link(place.definitions.get(node.identifier)?.url ?? "", node.children, place);
    case "image":
      return link(node.url, [{ type: "text", value: node.alt || node.url }], place);
    case "imageReference":
      return link(place.definitions.get(node.identifier)?.url ?? "", [{ type: "text", value: node.alt ?? "" }], place);
    case "footnoteReference":
      return `\\[${escapedWiki(node.label ?? node.identifier)}\\]`;
    case "html": {
      const shown = textOfHtml(node.value);
      return shown === null ? "\n" : escapedWiki(shown);
    }
    default:
      return "";
  }
}

/** In braces the characters also work inside of words. */
const wrapIn = (sign: string, text: string): string => (text.trim() === "" ? text : `{${sign}}${text}{${sign}}`);

function link(url: string, children: readonly PhrasingContent[], place: Place): string {
  const user = /^accountid:([\w.@:-]{1,128})$/.exec(url)?.[1];
  if (user !== undefined) return `[~${user}]`;
  if (!isSafeLink(url)) return inline(children, place);
  const address = url.trim().replace(/[|\]\\{}\s]/g, (sign) => encodeURIComponent(sign));
  const shown = inline(children, place).replaceAll("\n", " ");
  return plain(children).trim() === "" || plain(children) === url ? `[${address}]` : `[${shown}|${address}]`;
}

const sign = /[\\{}[\]*_+^~|!?-]/g;
const picture = emoticons.map(([shown]) => shown.replace(/\W/g, "\\$&")).join("|");
const meaning = new RegExp(`${picture}|${sign.source}`, "g");

/** A backslash becomes an entity, because two backslashes are a line break. */
const escapedSign = (one: string): string => (one === "\\" ? "&#92;" : `\\${one}`);

/** Escapes the characters that are special anywhere in a line, and those that are special at its beginning. */
export const escapedWiki = (text: string): string =>
  text
    .replace(/&(?=#?\w{1,8};)/g, "&amp;")
    .replace(meaning, (found) =>
      found.length === 1 ? escapedSign(found) : `\\${found.charAt(0)}${found.slice(1).replace(sign, escapedSign)}`,
    )
    .replace(/^#+ /, "\\$&")
    .replace(/^(?:bq\. |h[1-6]\. )/, (found) => `&#${found.charCodeAt(0)};${found.slice(1)}`);
