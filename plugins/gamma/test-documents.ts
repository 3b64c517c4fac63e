import fc from "fast-check";
import type { BlockContent, Nodes, PhrasingContent, Root, RootContent } from "mdast";
import { parseMarkdown, writeMarkdown } from "./markdown.ts";

const word = fc.constantFrom(
  "alpha",
  "Größe",
  "🙂",
  "x_y",
  "2*3",
  "a|b",
  "@ann",
  "<b>",
  "C:\\dir",
  "1.",
  "#12",
  "`q`",
  "~5",
  "&amp;",
  "!",
);
const words = fc.array(word, { minLength: 1, maxLength: 4 }).map((list) => list.join(" "));
const text = words.map((value): PhrasingContent => ({ type: "text", value }));
const code = fc.constantFrom("a()", "x | y", "**b**", "<i>").map((value): PhrasingContent => ({ type: "inlineCode", value }));
const link = fc
  .record({
    url: fc.constantFrom("https://example.com/a?b=1&c=(2)", "mailto:a@example.com", "accountid:5b10-ann"),
    value: fc.constantFrom("@Ann", "there"),
  })
  .map(({ url, value }): PhrasingContent => ({ type: "link", url, children: [{ type: "text", value }] }));
const styledText = fc
  .record({ type: fc.constantFrom("strong", "emphasis", "delete"), value: fc.constantFrom("bold", "so it is") })
  .map(({ type, value }) => ({ type, children: [{ type: "text", value }] }) as PhrasingContent);
const space: PhrasingContent = { type: "text", value: " " };
const line = fc
  .array(fc.oneof({ arbitrary: text, weight: 3 }, code, link, styledText), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.flatMap((part, at) => (at > 0 ? [space, part] : [part])));
const paragraph = line.map((children): BlockContent => ({ type: "paragraph", children }));
const fence = fc
  .record({ lang: fc.constantFrom("ts", null), value: fc.constantFrom("const a = 1;\n\nb();", "```", "*not*", "{code}", "") })
  .map((rest): BlockContent => ({ type: "code", ...rest }));
const list = fc
  .record({
    ordered: fc.boolean(),
    items: fc.array(fc.record({ children: line, checked: fc.constantFrom(null, null, true, false), inner: fc.option(line) }), {
      minLength: 1,
      maxLength: 3,
    }),
  })
  .map(
    ({ ordered, items }): BlockContent => ({
      type: "list",
      ordered,
      ...(ordered ? { start: 1 } : {}),
      spread: false,
      children: items.map(({ children, checked, inner }) => ({
        type: "listItem",
        spread: false,
        checked,
        children: [
          { type: "paragraph", children },
          ...(inner
            ? [
                {
                  type: "list" as const,
                  ordered: false,
                  spread: false,
                  children: [
                    { type: "listItem" as const, spread: false, children: [{ type: "paragraph" as const, children: inner }] },
                  ],
                },
              ]
            : []),
        ],
      })),
    }),
  );
const table = fc.array(fc.tuple(line, line), { minLength: 2, maxLength: 4 }).map(
  (rows): BlockContent => ({
    type: "table",
    children: rows.map((cells) => ({ type: "tableRow", children: cells.map((children) => ({ type: "tableCell", children })) })),
  }),
);
const heading = fc
  .record({ depth: fc.constantFrom(1, 2, 3, 6), children: line })
  .map(({ depth, children }) => ({ type: "heading", depth, children }) as BlockContent);
const quote = fc
  .array(fc.oneof(paragraph, fence, list), { minLength: 1, maxLength: 2 })
  .map((children): BlockContent => ({ type: "blockquote", children }));
const blocks = fc.array(fc.oneof(paragraph, paragraph, heading, list, fence, table, quote), { minLength: 1, maxLength: 5 });
/** An arbitrary document. Adjacent blocks of one kind would merge in Markdown, so a paragraph separates them. */
export const document = blocks.map(
  (children): Root => ({
    type: "root",
    children: children.flatMap((child, at): RootContent[] =>
      at > 0 ? [{ type: "paragraph", children: [{ type: "text", value: "then" }] }, child] : [child],
    ),
  }),
);
/** Converted to text and back once, so that both sides of a comparison are written the same way. */
export const normalize = (markdown: string): string => {
  const root = parseMarkdown(markdown);
  tight(root);
  return writeMarkdown(root);
};
/** The platform has no lists with blank lines between their items. */
function tight(node: Nodes): void {
  if (node.type === "list" || node.type === "listItem") node.spread = false;
  if ("children" in node) for (const child of node.children) tight(child);
}
