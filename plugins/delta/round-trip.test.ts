import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { htmlOf, markdownOf, plainHtml, withMarker } from "./bodies.ts";
import { type Convert, conversions } from "./conversions.ts";
import { htmlToMarkdown, markdownToHtml } from "./html.ts";

const word = fc.constantFrom(
  "alpha",
  "Größe",
  "🙂",
  "x\\_y",
  "2 \\* 3",
  "@ann",
  "\\<b>",
  "`a | b()`",
  "**bold**",
  "*so*",
  "~~gone~~",
  "[there](https://example.com/a?b=1\\&c=2)",
  "#12",
  "C:\\dir",
);
const line = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));
const block = fc.oneof(
  line,
  fc.record({ level: fc.integer({ min: 1, max: 6 }), line }).map(({ level, line: title }) => `${"#".repeat(level)} ${title}`),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((items) => items.map((item) => `- ${item}`).join("\n")),
  fc
    .array(line, { minLength: 1, maxLength: 3 })
    .map((items) => items.map((item, at) => `${at + 1}. ${item}\n   - inner`).join("\n")),
  fc.constantFrom("- [x] done\n- [ ] open", "```ts\nconst a = '<b>';\n\nb();\n```", "> quoted\n>\n> - item", "---"),
  fc.array(fc.tuple(line, line), { minLength: 2, maxLength: 3 }).map(([head, ...rows]) => {
    const row = (cells: readonly string[] = []) => `| ${cells.map((cell) => cell.replaceAll("a | b()", "ab()")).join(" | ")} |`;
    return [row(head), "| - | - |", ...rows.map(row)].join("\n");
  }),
);
const document = fc.array(block, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("\n\nthen\n\n"));

const convert = (async (name: keyof typeof conversions, input: string) => conversions[name](input)) as Convert;

describe("the platform's HTML", () => {
  test("Markdown there and back is the same", () => {
    fc.assert(
      fc.property(document, (markdown) => {
        const once = htmlToMarkdown(markdownToHtml(markdown));
        // The first round trip may change the spelling but loses no word; the second must change nothing.
        expect(htmlToMarkdown(markdownToHtml(once))).toBe(once);
        const letters = (text: string) => text.replace(/[\\\s*_`~|#>.\d-]/g, "");
        expect(letters(once)).toBe(letters(markdown));
      }),
      { numRuns: 150 },
    );
  });

  test.each(["colspan=3000000", 'colspan="3000000 columns"', "rowspan=3000000 colspan=3000000"])("a cell with %s", (span) => {
    const markdown = htmlToMarkdown(`<table><tr><th>a</th></tr><tr><td ${span}>b</td></tr></table>`);
    expect(markdown).toMatch(/a[\s\S]*b/);
    expect(markdown.length).toBeLessThan(2_000);
  });

  test("each kind of block survives", () => {
    const markdown =
      "# Title\n\n- a\n  - b\n\n1. c\n\n- [x] d\n- [ ] e\n\n> f\n\n```ts\ng < h\n```\n\n| i | j |\n| - | - |\n| k | l |\n\n**m** *n* ~~o~~ `p` [q](https://example.com) @ann 🙂\n\n---";
    expect(htmlToMarkdown(markdownToHtml(markdown))).toBe(markdown);
  });

  test("no Markdown makes a tag or an address that is not allowed", () => {
    const pieces = fc.constantFrom(
      "<script>alert(1)</script>",
      "<img src=x onerror=y>",
      "[a](javascript:x)",
      "[a](data:text/html,x)",
      "![a](https://x/y.png)",
      "<style>",
      "</p></div>",
      "> ",
      "- ",
      "```",
      "\n",
      "<!--",
      "-->",
      '" onclick="',
      "&lt;script&gt;",
      "[b]: javascript:x\n\n[b]",
    );
    const anything = fc.oneof(
      fc.array(pieces, { maxLength: 30 }).map((list) => list.join("")),
      fc.string({ unit: "binary", maxLength: 200 }),
    );
    const tags =
      /^\/?(p|h[1-6]|ul|ol|li|strong|em|del|code|pre|blockquote|a|br|hr|table|thead|tbody|tr|th|td|img|sup|section|input)$/;
    fc.assert(
      fc.property(anything, (markdown) => {
        const html = withMarker(markdownToHtml(markdown), "k");
        for (const [, tag = "", rest = ""] of html.matchAll(/<(\/?[a-z][a-z0-9]*)([^>]*)>/gi)) {
          expect(tag).toMatch(tags);
          expect(rest).not.toMatch(/\son\w+=|style=/i);
        }
        for (const [, address = ""] of html.matchAll(/(?:href|src)="([^"]*)"/g))
          expect(address).not.toMatch(/^\s*(javascript|data|vbscript):/i);
      }),
      { numRuns: 200 },
    );
  });

  test("HTML in Markdown is shown as text, HTML comments are dropped", () => {
    expect(markdownToHtml("List<String> <!-- secret --> x\n\n<div>block</div>")).toBe(
      "<p>List&#x3C;String>  x</p>\n<p>&#x3C;div>block&#x3C;/div></p>",
    );
  });

  test("what readers do not see is left out", () => {
    const html =
      '<p>a</p><p style="display:none">x</p><p hidden>x</p><style>x</style><p>b <span style="color: #FFF">x</span><font color="white">x</font>c</p>';
    expect(htmlToMarkdown(html)).toBe("a\n\nb c");
    const coloured = '<p>a<span style="color: rgb(255,0,0)">b</span><span style="color: rgba(255,0,0,0)">x</span></p>';
    expect(htmlToMarkdown(coloured)).toBe("ab");
    const onColour =
      '<p style="background-color: #0747a6">a<span style="color: white">b</span><span style="color: white; background: #fff">x</span></p>';
    expect(htmlToMarkdown(onColour)).toBe("ab");
  });

  test("reads what the platform's own editor writes", () => {
    const html =
      '<p class="editor-paragraph-block">Hi <mention-component entity_identifier="u-1" entity_name="user_mention" label="ann"></mention-component></p><ul data-type="taskList"><li data-checked="true"><p>done</p></li></ul><script>x</script><image-component src="1"></image-component>';
    expect(htmlToMarkdown(html)).toBe("Hi @ann\n\n- done");
  });

  test("reads any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => void htmlToMarkdown(text)),
      { numRuns: 150 },
    );
  });

  test("a long text is cut, with a note in front", async () => {
    expect((await htmlOf(convert, "x".repeat(200_000))).length).toBeLessThan(101_000);
  });

  test("what cannot be converted is shown as text", async () => {
    expect(await markdownOf(convert, `${"<div>".repeat(40_000)}deep **x**`)).toMatch(
      /plain text[\s\S]*```text\ndeep \*\*x\*\*\n```$/,
    );
    expect(await markdownOf(convert, `${"<p>".repeat(3)}${"<b>".repeat(40_000)}a &lt; b`)).toContain("a < b");
    const failing = (() => Promise.reject(new Error("too slow"))) as Convert;
    expect(await htmlOf(failing, "a <b> & c\n\n**d**")).toBe(plainHtml("a <b> & c\n\n**d**"));
    expect(await htmlOf(failing, "a <b> & c")).toContain("<p>a &lt;b&gt; &amp; c</p>");
    expect(await markdownOf(failing, "<p>a &amp; b</p><p>```c</p>")).toMatch(/````text\na & b\n\n```c\n````$/);
  });
});
