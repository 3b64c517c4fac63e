import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { repeatedStallOf } from "../platform/test-stall.ts";
import { chunkMarkdown } from "./chunk.ts";

const paths = (markdown: string) => chunkMarkdown(markdown).map(({ heading_path, text }) => [...heading_path, text]);

test.each(["`", "~"])("a line of 100,000 %s is read in one pass", async (mark) => {
  const read = () => chunkMarkdown(`${mark.repeat(100_000)}\r# A\n\n# B\nb`);
  expect(await repeatedStallOf(async () => read(), 1_000)).toBeLessThan(1_000);
  expect(read().at(-1)).toEqual({ heading_path: ["B"], text: "b" });
});

describe("sections", () => {
  test("have the headings above them; a heading alone makes no chunk", () => {
    expect(paths("intro\n# A\n## B\nb\n### C ###\nc\n# D\n#### E\ne\n## F\nf")).toEqual([
      ["intro"],
      ["A", "B", "b"],
      ["A", "B", "C", "c"],
      ["D", "E", "e"],
      ["D", "F", "f"],
    ]);
  });
  test("code and hash tags are not headings", () => {
    expect(paths("# A\n```sh\n# comment\n```\n#tag\n\\# escaped\n~~~\n# x\n```\n~~~\n# B\nb")).toEqual([
      ["A", "```sh\n# comment\n```\n#tag\n\\# escaped\n~~~\n# x\n```\n~~~"],
      ["B", "b"],
    ]);
  });
  test("a line that is too long for a heading is text", () => {
    const long = `# ${"word ".repeat(100).trim()}`;
    expect(paths(`# A\n${long}\nb`)).toEqual([["A", `${long}\nb`]]);
  });
  test("nothing makes no chunk", () => {
    expect(paths("")).toEqual([]);
    expect(paths("# Only\n\n## Headings\n \n")).toEqual([]);
  });
});

describe("long sections", () => {
  const words = Array.from({ length: 3000 }, (_, i) => `word${i}`);
  test("are cut between words, each piece repeating the end of the one before", () => {
    const pieces = chunkMarkdown(`# A\n${words.join(" ")}`);
    expect(pieces.length).toBeGreaterThan(10);
    for (const [i, { text, heading_path }] of pieces.entries()) {
      expect(text.length).toBeLessThanOrEqual(1500);
      expect(heading_path).toEqual(["A"]);
      const before = pieces[i - 1]?.text.split(" ");
      if (!before) continue;
      const shared = text.split(" ").filter((word) => before.includes(word));
      expect(shared.length).toBeGreaterThan(5);
      expect(before.slice(-shared.length)).toEqual(shared);
    }
    expect(new Set(pieces.flatMap(({ text }) => text.split(" ")))).toEqual(new Set(words));
  });
  test("are cut between paragraphs rather than within them", () => {
    const paragraph = `${"x".repeat(500)}. ${"y".repeat(420)}`;
    const pieces = chunkMarkdown(`${paragraph}\n\n${paragraph}\n\n${paragraph}`);
    for (const { text } of pieces) expect(text).toMatch(/y$/);
  });
  test("lose only white space of any text, and never half a character", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 40 }), { maxLength: 60 }),
        fc.integer({ min: 8, max: 60 }),
        (parts, size) => {
          const text = parts.join(" ").replaceAll("#", "").replaceAll("`", "").replaceAll("~", "");
          const pieces = chunkMarkdown(text, { size, repeat: Math.floor(size / 4) });
          for (const piece of pieces) {
            expect(piece.text.length).toBeLessThanOrEqual(size + 1);
            expect(piece.text.isWellFormed()).toBe(text.isWellFormed());
          }
          const letters = (value: string) => new Set(value.replace(/\s+/g, ""));
          expect(letters(pieces.map((piece) => piece.text).join(""))).toEqual(letters(text));
        },
      ),
    );
  });
});
