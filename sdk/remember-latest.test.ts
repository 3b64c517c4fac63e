import { expect, test } from "vitest";
import { rememberLatest } from "./remember-latest.ts";

test("the value of a key is made once, and forgotten when newer keys fill the memory", () => {
  const of = rememberLatest<string>(2);
  let made = 0;
  const make = () => `value ${++made}`;
  expect(["a", "b", "a"].map((key) => of(key, make))).toEqual(["value 1", "value 2", "value 1"]);
  expect(["c", "b", "a"].map((key) => of(key, make))).toEqual(["value 3", "value 2", "value 4"]);
});
