import fc from "fast-check";
import { expect, test } from "vitest";
import { parseArray, parseBytes, parseTimestamp, serializeArray } from "./driver.ts";

test("what was written is read again", () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", ",", "{}", "NULL", "", "\n")))),
      (all) => {
        expect(parseArray(serializeArray(all), String)).toEqual(all);
      },
    ),
  );
});

test("the forms that PostgreSQL writes", () => {
  expect(parseArray("{}", String)).toEqual([]);
  expect(parseArray('{a,NULL,"b c","d\\"e\\\\",""}', String)).toEqual(["a", null, "b c", 'd"e\\', ""]);
  expect(parseArray("{1,-2,NULL}", Number)).toEqual([1, -2, null]);
});

test("bytes in both formats of bytea_output", () => {
  expect(parseBytes("\\x00615cff")).toEqual(Buffer.from([0, 0x61, 0x5c, 0xff]));
  expect(parseBytes("\\000a\\\\\\377")).toEqual(Buffer.from([0, 0x61, 0x5c, 0xff]));
  expect(parseBytes("\\\\x61")).toEqual(Buffer.from("\\x61"));
  expect(parseBytes("")).toEqual(Buffer.alloc(0));
});

test("timestamps in ISO 8601, as a Date would write them", () => {
  const fractions = ["", ".1", ".25", ".123", ".123456"];
  const texts = [...fractions.map((fraction) => `2026-11-27 19:01:12${fraction}+00`), "2026-11-27 19:01:12.5+05:30"];
  for (const text of texts) expect(parseTimestamp(text)).toBe(new Date(text).toISOString());
  expect(() => parseTimestamp("infinity")).toThrow(RangeError);
});
