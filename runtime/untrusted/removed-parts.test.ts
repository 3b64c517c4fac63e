import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeat, repeatedStallOf, stallOf } from "../platform/test-stall.ts";
import { cleanText } from "./clean.ts";

/** Parts of a text that readers do not see, with this content. */
const removed: Readonly<Record<string, (content: string) => string>> = {
  "the words after the language of code": (content) => `~~~ a ${content}`,
  "a title": (content) => `[a](b "${content}")`,
  "a title before the end of a comment": (content) => `[a](b "${content}") -->`,
  "a definition": (content) => `[//]: # (${content})`,
  "a cell without a column": (content) => `| a |\n|---|\n| b | ${content} |`,
  "a description": (content) => `![${content}](x)`,
  "a declaration": (content) => `a <!A ${content}>`,
};
const openers = [
  ...["<b ", "<!-- ", "<a ", "</", "<!", "<?", "&#", "[", "![", "|", "`", "<b<b", "<x/b=", "<!-->"],
  ...["<b style ", "<b/style=", "<b style='", "<b hidden ", "<style2 ", "<b /color", "<script "],
];

test.each(Object.entries(removed))("%s is read in linear time", { timeout: 120_000 }, async (_, part) => {
  const idle = await idleStall();
  const stalls: [opener: string, length: number, stall: number][] = [];
  for (const opener of openers)
    for (const length of [200_000, 1_000_000]) {
      const text = part(repeat(opener, length));
      const clean = async () => cleanText(text);
      // Twice the usual maximum for 200,000 characters. With quadratic time, it was many times more.
      const limit = (length / 100_000) * maxStallMs + idle;
      if ((await stallOf(clean)) <= limit) continue;
      const stall = await repeatedStallOf(clean);
      if (stall <= limit) continue;
      stalls.push([opener, length, stall]);
      break;
    }
  expect(stalls, `idle: ${idle} ms`).toEqual([]);
});

test("coloured text is shown, transparent text is not", () => {
  expect(cleanText('a <span style="color: rgb(255,0,0)">b</span> c')).toContain(">b<");
  expect(cleanText('a <span style="color: rgba(255,0,0,0)">b</span> c')).toBe("a  c");
});

test("a hidden element that begins after very many others in a removed part is hidden", () => {
  for (const count of [1, 100, 10_000]) {
    const text = `a [b](c "${"<b style ".repeat(count)} <b 1 hidden>") d`;
    expect(cleanText(text)).not.toContain(" d");
  }
});

test("comments that begin in a removed part are hidden to their end", () => {
  expect(cleanText('[a](b "<!-- <!--") c --> d <!-- e --> f <!-- g')).toBe("[a](b d  f <!-- g");
});
