import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AdfNode } from "./adf.ts";
import { adfToMarkdown } from "./adf-to-markdown.ts";
import { bodyOf, isMarked, markdownOf, withMarker } from "./bodies.ts";
import type { Convert } from "./conversions.ts";
import { conversions } from "./conversions.ts";
import { writeMarkdown } from "./markdown.ts";
import { markdownToAdf } from "./markdown-to-adf.ts";
import { document, normalize } from "./test-documents.ts";
import { wikiToMarkdown } from "./wiki-to-markdown.ts";

const convert = (async (name: keyof typeof conversions, input: string) => conversions[name](input)) as Convert;
const failing = (() => Promise.reject(new Error("too slow"))) as Convert;
const known = new Set([
  "doc",
  "paragraph",
  "heading",
  "rule",
  "blockquote",
  "bulletList",
  "orderedList",
  "listItem",
  "codeBlock",
  "table",
  "tableRow",
  "tableHeader",
  "tableCell",
  "text",
  "hardBreak",
  "mention",
]);
const all = (node: AdfNode): AdfNode[] => [node, ...(node.content ?? []).flatMap(all)];

describe("Cloud's documents", () => {
  test("Markdown there and back is the same", () => {
    fc.assert(
      fc.property(document, (root) => {
        const markdown = normalize(writeMarkdown(root));
        expect(adfToMarkdown(JSON.parse(JSON.stringify(markdownToAdf(markdown))))).toBe(markdown);
      }),
      { numRuns: 150 },
    );
  });

  test("no Markdown makes a node or a link that is not allowed", () => {
    const pieces = fc.constantFrom(
      "<script>",
      "javascript:alert(1)",
      "](",
      "[a](javascript:x)",
      "![](data:x)",
      "> ",
      "- ",
      "```",
      "|",
      "\n",
      "<!--",
      "-->",
      "{panel}",
      "[b]: vbscript:x",
      "[b]",
      "# ",
      "**",
      "\u200B",
      "&#106;",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(pieces, { maxLength: 40 }).map((list) => list.join("")),
          fc.string({ unit: "binary", maxLength: 200 }),
        ),
        (markdown) => {
          const body = withMarker(markdownToAdf(markdown), "key-1") as AdfNode;
          for (const node of all(body)) {
            expect(known).toContain(node.type);
            if (node.type === "text") expect(node.text).toBeTruthy();
            for (const mark of node.marks ?? [])
              if (mark.type === "link") expect(String(mark.attrs?.href)).toMatch(/^(https?|mailto|tel|ftp):/i);
          }
          expect(isMarked(body, "key-1")).toBe(true);
          expect(isMarked(body, "key-2")).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("HTML becomes text, HTML comments are dropped", () => {
    expect(adfToMarkdown(markdownToAdf("a <b>c</b> <!-- secret --> d<br>e"))).toBe("a \\<b>c\\</b>  d\\\ne");
  });

  test("reads what the platform's own editor writes", () => {
    const node = (type: string, attrs: object, content?: unknown[]) => ({ type, attrs, ...(content ? { content } : {}) });
    const document = {
      type: "doc",
      version: 1,
      content: [
        node("panel", { panelType: "info" }, [
          { type: "paragraph", content: [{ type: "text", text: "Mind " }, node("emoji", { shortName: ":fire:", text: "🔥" })] },
        ]),
        node("taskList", { localId: "1" }, [node("taskItem", { localId: "2", state: "DONE" }, [{ type: "text", text: "done" }])]),
        {
          type: "paragraph",
          content: [
            node("mention", { id: "5b10-ann", text: "@Ann" }),
            { type: "text", text: " " },
            node("date", { timestamp: "1767323045000" }),
            { type: "text", text: " " },
            node("status", { text: "OPEN" }),
          ],
        },
        node("mediaSingle", {}, [node("media", { id: "1", alt: "shot.png" })]),
        { type: "paragraph", content: [node("inlineCard", { url: "https://example.com" })] },
        node("expand", { title: "More" }, [{ type: "paragraph", content: [{ type: "text", text: "within" }] }]),
        node("unheardOf", {}, [{ type: "paragraph", content: [{ type: "text", text: "kept" }] }]),
      ],
    };
    expect(adfToMarkdown(document)).toBe(
      "> Mind 🔥\n\n- [x] done\n\n[@Ann](accountid:5b10-ann) 2026-01-02 OPEN\n\n(attachment shot.png)\n\n<https://example.com>\n\nwithin\n\nkept",
    );
  });

  test("white text is left out, unless it has a background", () => {
    const text = (value: string, ...marks: [type: string, color: string][]) => ({
      type: "text",
      text: value,
      marks: marks.map(([type, color]) => ({ type, attrs: { color } })),
    });
    const content = [
      text("a "),
      text("x", ["textColor", "#ffffff"]),
      text("x", ["textColor", "#FFF"], ["backgroundColor", "#ffffff"]),
      text("b", ["textColor", "#ffffff"], ["backgroundColor", "#000000"]),
      text(" c", ["textColor", "#ff0000"]),
    ];
    expect(adfToMarkdown({ type: "doc", version: 1, content: [{ type: "paragraph", content }] })).toBe("a b c");
    const paragraph = { type: "paragraph", content: [text("a"), text("b", ["textColor", "#ffffff"])] };
    const read = (type: string, attrs: object) =>
      adfToMarkdown({ type: "doc", version: 1, content: [{ type, attrs, content: [paragraph] }] });
    expect(read("panel", { panelType: "custom", panelColor: "#000000" })).toBe("> ab");
    expect(read("panel", { panelType: "custom", panelColor: "#FFFFFF" })).toBe("> a");
    expect(read("panel", { panelType: "info", panelColor: "#000000" })).toBe("> a");
    expect(read("tableCell", { background: "#0747a6" })).toBe("ab");
    expect(read("tableHeader", { background: "#deebff" })).toBe("a");
    expect(read("paragraph", { background: "#0747a6" })).toBe("a");
    const cell = { type: "tableHeader", attrs: { background: "#0747a6" }, content: [paragraph] };
    const table = { type: "table", content: [{ type: "tableRow", content: [cell] }] };
    expect(adfToMarkdown({ type: "doc", version: 1, content: [table] })).toContain("| ab |");
  });

  test("reads any JSON and any depth", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => void adfToMarkdown(value)),
      { numRuns: 150 },
    );
    let deep: unknown = { type: "text", text: "x" };
    for (let level = 0; level < 5000; level++) deep = { type: level % 2 ? "blockquote" : "bulletList", content: [deep] };
    expect(adfToMarkdown({ type: "doc", content: [deep] })).toEqual(expect.any(String));
  });

  test("a long text is cut, with a note in front", async () => {
    const body = JSON.stringify(await bodyOf(convert, "word ".repeat(20_000), { is_cloud: true }));
    expect(body.length).toBeLessThan(33_000);
    expect(body).toContain("Cut off.");
    expect(String(await bodyOf(failing, "_[".repeat(20_000), { is_cloud: false })).length).toBeLessThan(32_900);
  });

  test("what cannot be converted is shown as text", async () => {
    const cloud = (await bodyOf(failing, "# a\n\n**b** <c>", { is_cloud: true })) as AdfNode;
    expect(all(cloud).flatMap(({ text }) => text ?? [])).toEqual([expect.stringContaining("plain text"), "# a", "**b** <c>"]);
    const long = (await bodyOf(failing, "a\n".repeat(5_000), { is_cloud: true })) as AdfNode;
    expect(long.content?.map(({ type }) => type)).toEqual(["paragraph", "codeBlock"]);
    let deep: unknown = { type: "text", text: "a ``` b" };
    for (let level = 0; level < 20_000; level++) deep = { type: "blockquote", content: [deep] };
    expect(await markdownOf(failing, { type: "doc", content: [deep] })).toMatch(/plain text[\s\S]*````text\na ``` b\n````$/);
    expect(await markdownOf(failing, "h1. a\n{code}")).toMatch(/```text\nh1. a\n{code}\n```$/);
    const server = String(await bodyOf(failing, "h1. a\n  h2. b\n{code}\n* c|d", { is_cloud: false }));
    expect(wikiToMarkdown(server)).toMatch(/h1\. a\\\nh2\. b\\\n\{code\}\\\n\\\* c\|d$/);
  });
});
