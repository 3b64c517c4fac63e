import { expect, test } from "vitest";
import { scalarsOf } from "./json-scalars.ts";

test("an item has the name of its array, a member its own", () => {
  const text = '{"a": [1, [2], {"b": 3, "c": ["x", "y"]}, -4], "d": {"e": 5}, "f": 6, "g": [{}, [], 7]}';
  const found = [...scalarsOf(Buffer.from(text))].map((one) => one && [one.text, one.name, one.isItem]);
  expect(found).toEqual([
    ["1", "a", true],
    ["2", "a", true],
    ["3", "b", false],
    ["x", "c", true],
    ["y", "c", true],
    ["-4", "a", true],
    ["5", "e", false],
    ["6", "f", false],
    ["7", "g", true],
  ]);
});

test("texts that are not complete, and deeper than any payload, are read to their end", () => {
  const text = `]]}} 1 ${"[".repeat(100_000)} "x" ${"]".repeat(100_000)} {"a": [2`;
  const found = [...scalarsOf(Buffer.from(text))].flatMap((one) => (one ? [[one.text, one.name]] : []));
  expect(found).toEqual([
    ["1", ""],
    ["x", ""],
    ["2", "a"],
  ]);
});

test("a reader can pause in a long text without strings and numbers", () => {
  const text = Buffer.from(`[${'{"a":null},'.repeat(60_000)}1]`);
  const found = [...scalarsOf(text)];
  expect(found.filter((one) => one === null)).toHaveLength(Math.floor(text.length / 65_536));
  expect(found.at(-1)).toMatchObject({ text: "1" });
});
