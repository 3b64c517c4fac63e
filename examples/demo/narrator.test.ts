import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { Narrator, wrapLine } from "./narrator.ts";

test("wrapped lines of a list item are indented", () => {
  expect(wrapLine("- one two three", 9)).toEqual(["- one two", "  three"]);
  expect(wrapLine("plain words here", 11)).toEqual(["plain words", "here"]);
  expect(wrapLine("", 10)).toEqual([""]);
});

test("no word is lost, and no line is longer than necessary", () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }),
      fc.integer({ min: 4, max: 40 }),
      (words, width) => {
        const lines = wrapLine(words.join(" "), width);
        expect(lines.join(" ")).toBe(words.join(" "));
        for (const line of lines) expect(line.length <= width || !line.includes(" ")).toBe(true);
      },
    ),
  );
});

test("colours only on a terminal", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const told = (isTTY: boolean) => {
    let text = "";
    const tell = new Narrator({ isTTY, write: (part: string) => (text += part) } as unknown as NodeJS.WriteStream);
    tell.heading("Heading");
    tell.say("tracker", "does something", "note");
    return text;
  };
  expect(told(false)).toMatch(/^\nHeading\n +0\.00 s {2}tracker {4}does something {2}note\n$/);
  expect(told(true)).toContain("\u001b[1m");
});
