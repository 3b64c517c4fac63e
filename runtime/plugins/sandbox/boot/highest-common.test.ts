import { expect, test } from "vitest";
import { highestCommon } from "./highest-common.ts";

test.each([
  ["one each", [1], [1], 1],
  ["an older other side", [1, 2], [1], 1],
  ["a newer other side", [1], [1, 2], 1],
  ["both newer", [1, 2], [2, 1], 2],
  ["ten after nine", [9, 10], [10, 9], 10],
  ["two majors apart", [1], [2, 3], undefined],
])("%s", (_, own, offered, expected) => {
  expect(highestCommon(own, offered)).toBe(expected);
});
