import fc from "fast-check";
import { expect, test } from "vitest";
import { wrapText } from "./output.ts";

test("wrapped text keeps its words, and only words that are longer than a line exceed it", () => {
  const word = fc.string({ minLength: 1, maxLength: 30 }).filter((text) => !/\s/.test(text));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), fc.integer({ min: 10, max: 100 }), (words, columns) => {
      const lines = wrapText(words.join(" "), columns, "    ", "- ").split("\n");
      expect(lines.join(" ").replace(/^- /, "").split(/\s+/)).toEqual(words);
      for (const line of lines) expect(line.length <= columns || !line.trim().replace(/^- /, "").includes(" ")).toBe(true);
      for (const line of lines.slice(1)) expect(line).toMatch(/^ {4}\S/);
    }),
  );
});
