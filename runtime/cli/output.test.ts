import { expect, test } from "vitest";
import { asJson, onOneLine } from "./output.ts";

test("what a plugin wrote neither steers a terminal nor looks like another line", () => {
  const text = "a\nb\u001b[2J\u009b31m\u202edcba\u2028c";
  expect(onOneLine({ text })).toBe('{"text":"a\\nb\\u001b[2J\\u009b31m\\u202edcba\\u2028c"}');
  expect(JSON.parse(onOneLine({ text }))).toEqual({ text });
  expect(JSON.parse(asJson({ text }))).toEqual({ text });
  expect(asJson({ text })).not.toContain("\u009b");
});
