import fc from "fast-check";
import type { Nodes } from "mdast";
import { describe, expect, test } from "vitest";
import { isMarked, withMarker } from "./bodies.ts";
import { writeMarkdown } from "./markdown.ts";
import { markdownToAdf } from "./markdown-to-adf.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";
import { document, normalize } from "./test-documents.ts";
import { wikiToMarkdown } from "./wiki-to-markdown.ts";

/**
 * What the markup has no words for: names of people beside their id, a header row without which tables are the same, code within
 * lists and quotations of quotations.
 */
function plainer(node: Nodes): void {
  if (node.type === "link" && node.url.startsWith("accountid:"))
    node.children = [{ type: "text", value: `@${node.url.slice("accountid:".length)}` }];
  if ("children" in node) for (const child of node.children) plainer(child);
}

describe("Server's wiki markup", () => {
  test("writes every kind of block", () => {
    const markdown =
      "# T*i*tle\n\na **b** ~~c~~ `d{e}` [f](https://x.y/z|1) <br>@ann\n\n- one\n  1. two\n- [x] three\n\n> q\n\n| a | b |\n| - | - |\n| 1\\|2 | 3 |\n\n```ts\nx {code} y\n```\n\n---";
    expect(markdownToWiki(markdown)).toBe(
      "h1. T{_}i{_}tle\n\na {*}b{*} {-}c{-} {{d\\{e\\}}} [f|https://x.y/z%7C1] \n@ann\n\n* one\n*# two\n* \\[x\\] three\n\n{quote}\nq\n{quote}\n\n||a||b||\n|1\\|2|3|\n\n{code:ts}\nx {\u2060code} y\n{code}\n\n----",
    );
  });

  test("text cannot end code or a quotation", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            "{code}",
            "{quote}",
            "{noformat}",
            "```",
            "\n",
            "> ",
            "x",
            "{CODE:java}",
            "{{",
            "}}",
            "[~bob]",
            "!a.png!",
          ),
          { maxLength: 30 },
        ),
        (parts) => {
          const wiki = markdownToWiki(parts.join(""));
          const macros = [...wiki.matchAll(/(?<!\\)\{(code|quote|noformat)(?::\w+)?\}/gi)].map(([, name]) =>
            String(name).toLowerCase(),
          );
          expect(macros.filter((name) => name === "code").length % 2).toBe(0);
          expect(macros.filter((name) => name === "quote").length % 2).toBe(0);
          expect(macros).not.toContain("noformat");
          const outside = wiki.replace(/\{code(?::\w+)?\}\n[\s\S]*?\n\{code\}/g, "");
          expect(outside).not.toMatch(/(?<!\\)\[~bob/);
          expect(outside).not.toMatch(/(?<!\\)!a\.png(?<!\\)!/);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("the marker is recognised in front of every kind of block", () => {
    for (const markdown of ["text", "# title", "- item", "```\ncode\n```", "> quote", "| a |\n| - |", "---", "**b**"]) {
      expect(isMarked(withMarker(markdownToWiki(markdown), "k"), "k"), markdown).toBe(true);
    }
  });

  test("Markdown there and back is the same", () => {
    fc.assert(
      fc.property(document, (root) => {
        plainer(root);
        const markdown = normalize(writeMarkdown(root));
        expect(normalize(wikiToMarkdown(markdownToWiki(markdown)))).toBe(markdown);
      }),
      { numRuns: 150 },
    );
  });

  test.for([
    ["h2. Title with *bold* and {{code}}", "## Title with **bold** and `code`"],
    ["one\\\\two\nthree", "one\\\ntwo\\\nthree"],
    ["* a\n** b\n*# c\n* d\n\n# e\n# f", "- a\n  - b\n  1. c\n- d\n\n1. e\n2. f"],
    ["- a\n- b", "- a\n- b"],
    ["||a||b||\n|c|[d|https://e.f/g]|\n|{{h|i}}|j\\|k|", "| a | b |\n| - | - |\n| c | [d](https://e.f/g) |\n| `h\\|i` | j\\|k |"],
    ["{code:java|title=A.java}\nint a = 1; // {quote}\n{code}", "```java\nint a = 1; // {quote}\n```"],
    ["{noformat}\n*raw*\n{noformat}", "```\n*raw*\n```"],
    ["before {quote}said{quote} after", "before\n\n> said\n\nafter"],
    ["bq. said", "> said"],
    ["{panel:title=Note}Mind *this*.{panel}", "> Mind **this**."],
    ["{color:red}red{color} +under+ -gone- _so_ ??he??", "red under ~~gone~~ *so* *he*"],
    ["[~accountid:5b10-ann] [~bob] [x|mailto:a@b.c]", "[@5b10-ann](accountid:5b10-ann) [@bob](accountid:bob) [x](mailto:a@b.c)"],
    ["see https://a.b/c_d. (/) :) and f(x) a_b_c 2*3*4", "see <https://a.b/c_d>. ✅ 🙂 and f(x) a_b_c 2\\*3\\*4"],
    ["!shot.png|thumbnail! wow! yes!", "(attachment shot.png) wow! yes!"],
    ["[a|javascript:alert(1)] [^file.txt] {unknown} \\{code}", "\\[a|javascript:alert(1)] \\[^file.txt] {unknown} {code}"],
    ["{code}never closed\n*b*", "{code}never closed\\\n**b**"],
    ["a &#42; b &amp; c", "a \\* b & c"],
    ["----", "---"],
  ] as const)("reads %j", ([wiki, markdown]) => expect(wikiToMarkdown(wiki)).toBe(markdown));

  test("text that is not Markdown stays text", () => {
    for (const text of [
      "f(x) (y) (!) :) ;) :D",
      "C:\\dir\\\\x",
      "&#42; &amp; &copy;",
      "h1. no title",
      "bq. no quotation",
      "# no list",
      "{color:red}",
    ]) {
      const markdown = normalize(text.replace(/[\\&#*]/g, "\\$&"));
      expect(normalize(wikiToMarkdown(markdownToWiki(markdown)))).toBe(markdown);
    }
  });

  test("reads any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => void wikiToMarkdown(text)),
      { numRuns: 150 },
    );
  });
});

test.each([
  ["a {color:white}x{color}b {color:#FFFFFF}x *x*\n\nx{color}c", "a b c"],
  ["{color:red}a {color:white}x{color} b{color}", "a b"],
  ["{color:white}x {color:red}x{color} x{color}a", "a"],
  ["{code}{color:white}a{color}{code}", "```\n{color:white}a{color}\n```"],
  ["{panel:bgColor=#000}{color:white}a{color}{panel}", "> a"],
  ["{panel:bgColor=#fff}a{color:white}x{color}{panel}", "> a"],
  ["{panel:bgColor=#000}a{color:white}x{color}", "{panel:bgColor=#000}a"],
  ["{color:white}a", "a"],
  ["\\{color:white}a{color}", "{color:white}a"],
])("of %j, readers see what the Markdown contains", (wiki, markdown) => {
  expect(wikiToMarkdown(wiki).replace(/ {2,}/g, " ")).toBe(markdown);
});

test.each([
  ["many colours", () => wikiToMarkdown(`${"{color:white}".repeat(40_000)}a${"{color}".repeat(40_000)}`) || "nothing"],
  ["spaces, to wiki markup", () => markdownToWiki(`a${" ".repeat(1 << 20)}b`)],
  ["spaces, to a document", () => markdownToAdf(`a${" ".repeat(1 << 20)}b`)],
  ["a URL that ends in points", () => wikiToMarkdown(`http://a${".".repeat(1 << 20)}b`)],
])("%s: takes linear time", (_, convert) => expect(convert()).toBeTruthy());
