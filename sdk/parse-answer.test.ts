import { expect, test } from "vitest";
import { parseAnswer } from "./parse-answer.ts";

const long = " ".repeat(300_000);
const wide = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, at])));
const refused = /an object has more than 10,000 members/;

test.each([null, "a", '"\\"{:', [], {}, [[{ a: [1, { b: null }] }], "}"], { 'a":': { "\\": ["]", { c: true }] }, d: 1.5 }])(
  "it parses what JSON.parse parses, short or long: %j",
  (value) => {
    for (const space of ["", long]) expect(parseAnswer(space + JSON.stringify(value))).toEqual(value);
  },
);

test("a long text that is not JSON is a SyntaxError", () => {
  expect(() => parseAnswer(`${long}{"a":`)).toThrow(SyntaxError);
});

test.each([
  ["an object", wide(10_001)],
  ["an object in a list", `[1,${wide(10_001)}]`],
  ["an object after a text with an escaped quote", `{"text":"a \\" { \\\\","object":${wide(10_001)}}`],
  ["an object whose members are objects", `{${Array(10_001).fill('"a":{"b":1}').join(",")}}`],
  ["an object that does not end", `{${'"a":1,'.repeat(10_001)}`],
])("in a long text, %s with more than 10,000 members is refused", (_, text) => {
  expect(() => parseAnswer(long + text)).toThrow(refused);
});

test.each([
  ["10,000 members", wide(10_000)],
  ["many small objects", JSON.stringify(Array(20_000).fill({ a: { b: 1 }, c: 2 }))],
  ["colons in texts", JSON.stringify([":".repeat(20_000), '":":'.repeat(5_000)])],
])("a long text with %s is parsed", (_, text) => {
  expect(parseAnswer(long + text)).toEqual(JSON.parse(text));
});
