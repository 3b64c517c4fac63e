import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import { expect, test } from "vitest";
import { decodeReferences } from "./references.ts";

/** As CommonMark reads it. */
function read(text: string): string {
  const [paragraph] = fromMarkdown(text).children;
  return paragraph?.type === "paragraph" ? paragraph.children.map((one) => ("value" in one ? one.value : "")).join("") : "";
}

const names =
  "amp lt gt quot apos num excl colon comma semi quest period sol lowbar UnderBar ast midast bsol lpar rpar lsqb lbrack rsqb rbrack nbsp NonBreakingSpace ensp emsp numsp puncsp thinsp hairsp ThinSpace VeryThinSpace MediumSpace ndash mdash hellip mldr lsquo rsquo ldquo rdquo laquo raquo bull middot rarr larr";

test.each(names.split(" "))("&%s; is decoded as Markdown does", (name) => {
  expect(decodeReferences(`a&${name};b`).decoded).toBe(read(`a&${name};b`));
});
test("numeric references are decoded as Markdown does", () => {
  const point = fc.integer({ min: 33, max: 126 });
  fc.assert(fc.property(point, (code) => decodeReferences(`a&#${code};b`).decoded === read(`a&#${code};b`)));
  fc.assert(fc.property(point, (code) => decodeReferences(`a&#x${code.toString(16)};`).decoded === read(`a&#${code};`)));
});
test("each decoded character is found in the text", () => {
  const text = "a&amp;b&#128512;c&unknown;&#x2f;";
  const { decoded, startOf } = decodeReferences(text);
  expect(decoded).toBe("a&b\u{1f600}c&unknown;/");
  const starts = [...decoded.matchAll(/[abc/]/g)].map(({ index }) => text.slice(startOf(index)));
  expect(starts).toEqual([text, "b&#128512;c&unknown;&#x2f;", "c&unknown;&#x2f;", "&#x2f;"]);
});
