import { repeat } from "../../platform/test-stall.ts";

/** Texts that are hard for the converters of each format, to be repeated. */
export const markdown: readonly string[] = [
  "a\n=\n",
  ">a\n\n",
  "> a\n\n",
  "a\n-\n",
  "- a\n",
  "* a\n\n",
  "1. a\n",
  "> > ",
  "- - ",
  "> - ",
  "*",
  "**a",
  "_[",
  "[",
  "[a](",
  "![",
  "`a``",
  "~a",
  "|",
  "|a|\n|-|\n",
  "<a href=x>",
  "<!--",
  "&#",
  "[^a]",
  "\\",
  "a",
  " ",
  "\n",
  "\t",
  "```\n",
];
export const html: readonly string[] = [
  "<a href=x>",
  "<a href=x>a</a>",
  "<b>",
  "<b><i>",
  "<p><b>",
  "</b>",
  "<table>",
  "<table><tr><td>",
  "<ul><li>",
  "<li>a",
  "<blockquote>",
  "<div>",
  "<",
  "<a",
  "<!--",
  "<!",
  "<![CDATA[",
  "&",
  "&amp",
  "<pre>`",
  "<code>*",
  "<br>",
  "<font><p>",
  "<select><option>",
  "<svg><a>",
  "<img alt=*>",
  "a",
  " ",
];
export const wiki: readonly string[] = [
  "* a\n",
  "# a\n",
  "**** x\n",
  "*a ",
  "_a ",
  "[a|",
  "[~a",
  "{*}",
  "{{",
  "{code:x}",
  "{quote}",
  "{panel}a",
  "|a",
  "||a\n",
  "!a",
  "\\",
  "&#",
  "(",
  "h1. ",
  "bq. a\n",
  "----\n",
  "http://a",
  "??a",
  ":)",
  "{color:x}",
  " ",
  "a",
  "\n",
];
export const storage: readonly string[] = [
  "<b><i ",
  "<p>",
  "<table><tr><td>",
  "<ul><li>",
  "<blockquote><p>a</p>",
  "<pre>`",
  "<ac:structured-macro><ac:parameter>",
  "<ac:task>",
  "<![CDATA[",
  "]]>",
  "&",
  "<",
  "<h1># ",
  "\n",
  " ",
  "|",
  "<td>|",
];

export function nested(levels: number, type: string): unknown {
  let node: unknown = { type: "text", text: "a" };
  for (let level = 0; level < levels; level++) node = { type, content: [node] };
  return { type: "doc", version: 1, content: [node] };
}
const paragraph = (text: string, marks: readonly object[] = []) => ({
  type: "paragraph",
  content: [{ type: "text", text, marks }],
});
const listOf = (type: string, item: string, count: number) => ({
  type: "doc",
  version: 1,
  content: [{ type, content: Array.from({ length: count }, () => ({ type: item, content: [paragraph("a*b_c")] })) }],
});
export const documents: Readonly<Record<string, unknown>> = {
  "a list of 9,000 items": listOf("bulletList", "listItem", 9_000),
  tasks: listOf("taskList", "taskItem", 9_000),
  "a table": {
    type: "doc",
    content: [
      {
        type: "table",
        content: Array.from({ length: 90 }, () => ({
          type: "tableRow",
          content: Array.from({ length: 90 }, () => ({ type: "tableCell", content: [paragraph("a|b")] })),
        })),
      },
    ],
  },
  "one long text": { type: "doc", content: [paragraph(repeat("*_[", 900_000))] },
  "many short texts": {
    type: "doc",
    content: [
      {
        type: "paragraph",
        content: Array.from({ length: 12_000 }, (_, i) => ({
          type: "text",
          text: "*",
          marks: i % 2 ? [{ type: "em" }] : [{ type: "strong" }],
        })),
      },
    ],
  },
  "50 levels": nested(50, "blockquote"),
  "5,000 levels": nested(5_000, "bulletList"),
  "20,000 levels": nested(20_000, "panel"),
};

/** An id of the platform delta. */
export const uuid = "00000000-0000-4000-8000-000000000001";
/** An issue of the platform gamma. */
export const gammaIssue = (description: unknown) => ({
  key: "APP-1",
  fields: { summary: "S", description, project: { key: "APP" } },
});
