import { describe, expect, test } from "vitest";
import { plainMarkdown, textOfMarkup } from "./plain-markdown.ts";

describe("textOfMarkup", () => {
  test.each([
    ["<p>a &amp; b</p><p>c<br/>d</p>", "a & b\n\nc\nd"],
    ["a < b", "a < b"],
    ["<b>a</b> <i", "a <i"],
    ["<![CDATA[<b> & c]]><x>y</x>", "<b> & cy"],
    ["<![CDATA[a", "a"],
    ["<![CDATA[a>b", "a>b"],
    ["&lt;b&gt; &amp;lt; &unknown;", "<b> &lt; &unknown;"],
    ["", ""],
  ])("%s", (markup, text) => expect(textOfMarkup(markup)).toBe(text));
});

describe("plainMarkdown", () => {
  test.each([
    ["a **b**", "```"],
    ["```\na\n```", "````"],
    ["a `````` b", "```````"],
  ])("%s is in a block that it cannot end", (text, fence) => expect(plainMarkdown(text)).toMatch(new RegExp(`\n${fence}text\n`)));
  test("a blank text stays blank", () => expect(plainMarkdown(" \n")).toBe(""));
});
