import fc from "fast-check";
import { expect, test } from "vitest";
import { parseArray, serializeArray } from "./driver.ts";

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
