export type Attributes = Readonly<Record<string, string>>;

interface Element {
  readonly name: string;
  readonly attributes: Attributes;
  /** Parameters of a macro, by name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Rendered content. */
  readonly text: string;
}

const droppedElements = new Set([
  "script",
  "style",
  "template",
  "ac:placeholder",
  "ac:task-id",
  "ac:task-uuid",
  "ac:adf-attribute",
  "colgroup",
]);
const blocks = new Set([
  "p",
  "div",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "ul",
  "ol",
  "table",
  "pre",
  "blockquote",
  "hr",
  "dl",
  "section",
  "article",
  "ac:layout",
  "ac:layout-section",
  "ac:layout-cell",
  "ac:rich-text-body",
  "ac:task-list",
]);
const inlineMacros = new Set(["status", "jira", "anchor"]);

/** Elements without text for a reader. */
export const isDropped = (name: string): boolean => droppedElements.has(name);

export const startsBlock = (name: string, attributes: Attributes): boolean =>
  blocks.has(name) || (name === "ac:structured-macro" && !inlineMacros.has(attributes["ac:name"] ?? ""));

type Render = (element: Element, parent: string) => string;

const heading =
  (level: number): Render =>
  ({ text }) => {
    const title = oneLine(text);
    return title === "" ? "" : `${"#".repeat(level)} ${title}`;
  };
const cell: Render = ({ text }) => `| ${oneLine(text).replaceAll("|", "\\|")} `;
const list: Render = ({ text }, parent) => (parent === "li" || parent === "ac:task-body" ? `\n${text.trim()}\n` : text.trim());

const renderers: Readonly<Record<string, Render>> = {
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
  br: () => "\n",
  hr: () => "---",
  p: ({ text }) => text.trim(),
  ul: list,
  ol: list,
  "ac:task-list": list,
  li: ({ text }) => item("- ", text),
  "ac:task": ({ text }) => item("- ", text),
  "ac:task-status": ({ text }) => (text.trim() === "complete" ? "[x] " : "[ ] "),
  td: cell,
  th: cell,
  tr: ({ text }) => (text.trim() === "" ? "" : `${text.trim()} |\n`),
  table: ({ text }) => table(text),
  pre: ({ text }) => codeBlock(text, ""),
  blockquote: ({ text }) =>
    text
      .trim()
      .replace(/\n{3,}/g, "\n\n")
      .replace(/^/gm, "> "),
  a: ({ text, attributes }) => link(oneLine(text), attributes.href),
  time: ({ text, attributes }) => oneLine(text) || (attributes.datetime ?? ""),
  "ac:emoticon": ({ attributes }) => attributes["ac:emoji-fallback"] ?? "",
  "ac:image": ({ attributes }) => attributes["ac:alt"] ?? "",
  "ri:page": ({ attributes }) => attributes["ri:content-title"] ?? "",
  "ri:attachment": ({ attributes }, parent) => (parent === "ac:link" ? (attributes["ri:filename"] ?? "") : ""),
  // The title of the linked page, unless the author gave the link a text.
  "ac:link-body": ({ text }) => ` ${oneLine(text)}`,
  "ac:plain-text-link-body": ({ text }) => ` ${oneLine(text)}`,
  "ac:link": ({ text }) => oneLine(text),
  "ac:structured-macro": (element) => macro(element),
};

export const render: Render = (element, parent) => (renderers[element.name] ?? (({ text }) => text))(element, parent);

function macro({ attributes, parameters, text }: Element): string {
  const name = attributes["ac:name"];
  if (name === "code" || name === "noformat") return codeBlock(text, parameters.get("language") ?? "");
  if (name === "jira") return parameters.get("key") ?? "";
  if (name === "anchor") return "";
  const title = parameters.get("title") ?? "";
  if (name === "status") return title;
  return [title, text.trim()].filter((part) => part !== "").join("\n\n");
}

function codeBlock(code: string, language: string): string {
  const text = code.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  if (text.trim() === "") return "";
  let longest = 2;
  for (const [marks] of text.matchAll(/`+/g)) longest = Math.max(longest, marks.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${/^[\w+#.-]{1,40}$/.test(language) ? language : ""}\n${text}\n${fence}`;
}

/** A list item; lines after the first are indented. */
function item(mark: string, text: string): string {
  const content = text
    .trim()
    .split("\n")
    .filter((line) => line.trim() !== "")
    .join("\n  ");
  return content === "" ? "" : `${mark}${content}\n`;
}

function table(text: string): string {
  const rows = text.split("\n").flatMap((row) => (row.trim() === "" ? [] : [row.trim()]));
  const [first, ...rest] = rows;
  if (first === undefined) return "";
  const columns = Math.max(1, first.split(/(?<!\\)\|/).length - 2);
  return [first, `|${" --- |".repeat(columns)}`, ...rest].join("\n");
}

function link(text: string, href: string | undefined): string {
  if (!href || !/^(https?|mailto):/i.test(href) || text === href) return text;
  return text === "" ? href : `[${text}](${href})`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
