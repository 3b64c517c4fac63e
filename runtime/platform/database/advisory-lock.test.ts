import { expect, test } from "vitest";
import { firstLockKeys, lockKeys } from "./advisory-lock.ts";

test.each([
  ["one key", lockKeys],
  ["two keys", firstLockKeys],
])("locks with %s do not share their number", (_, keys) => {
  const numbers = Object.values<number>(keys);
  expect(new Set(numbers).size).toBe(numbers.length);
});
