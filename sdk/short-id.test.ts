import { expect, test } from "vitest";
import { shortId } from "./short-id.ts";

test("a short id remains, and long ones differ if they begin alike", () => {
  const long = "x".repeat(200);
  expect(shortId(long)).toBe(long);
  expect(shortId("a\0b")).toBe("a\uFFFDb");
  const ids = [`${long}1`, `${long}2`].map(shortId);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
});
