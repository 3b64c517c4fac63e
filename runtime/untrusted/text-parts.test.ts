import fc from "fast-check";
import { expect, test } from "vitest";
import { fence } from "./fence.ts";
import { partsOf, storedParts } from "./text-parts.ts";

const shown = async (...parts: string[]) => (await fence("The event.", parts, "event")).split("\n").slice(2, -1).join("\n");
const markup = [
  "```",
  "~~~",
  "<div hidden>",
  "</div>",
  "<!--",
  "-->",
  "<script>",
  "</script>",
  "`",
  "![",
  '](x "',
  '")',
  "|",
  "\n\n",
  "a",
];
const text = fc.array(fc.constantFrom(...markup, "\n", " "), { maxLength: 12 }).map((pieces) => pieces.join(""));

test("each part is cleaned like a text of its own, whatever the others contain", async () => {
  await fc.assert(
    fc.asyncProperty(text, text, async (one, other) => {
      const alone = [await shown(one), "## Middle", await shown(other)].filter((part) => part.trim() !== "");
      expect(await shown(one, "## Middle", other)).toBe(alone.join("\n\n"));
    }),
  );
});

test("the parts are read as they were stored, and no author can add one", () => {
  expect(partsOf(storedParts(["# Issue", "", "a\u001e<!-- b", "c -->"], 100))).toEqual(["# Issue", "a<!-- b", "c -->"]);
  expect(partsOf(storedParts("a\u001eb", 100))).toEqual(["ab"]);
});

test("of a text that the plugin has cut, the beginning does not show what the rest may hide", async () => {
  const stored = storedParts(`${"a ".repeat(99_900)}words <!-- SECRET ${"b ".repeat(100_000)}`.slice(0, 262_144), 200_000);
  const read = await shown(...partsOf(stored));
  expect(read).not.toContain("SECRET");
  expect(read.length).toBeGreaterThan(199_000);
});

test("of a long text, the beginning is stored, and read without what the rest would hide", async () => {
  const stored = storedParts(["# Issue", `${"words ".repeat(10)}<!-- SECRET ${"x".repeat(100)} -->`, "the comment"], 90);
  expect(await shown(...partsOf(stored))).toMatch(/^# Issue\n\n(?:words ){9}words *\n\n\[cut: 194 characters in all\]$/);
});
