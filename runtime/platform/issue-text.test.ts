import { expect, test } from "vitest";
import { z } from "zod";
import { issueText } from "./issue-text.ts";

const issue = z.union([z.string().min(1), z.int()]);
const told = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(issueText);

test.each<[string, z.ZodType, unknown, string]>([
  ["a missing member", z.object({ a: z.string() }), {}, "is required (expected string)"],
  ["another type", z.object({ a: z.string() }), { a: 1 }, "Invalid input: expected string, received number"],
  ["a missing union", z.object({ a: issue }), {}, "is required (expected string or number)"],
  ["a union of other types", z.object({ a: issue }), { a: true }, "Invalid input: expected string or number, received boolean"],
  [
    "a union whose type is right",
    z.union([z.string(), z.object({ b: z.string() })]),
    { b: 1 },
    "b: Invalid input: expected string, received number",
  ],
])("%s", (_, schema, value, text) => {
  expect(told(schema, value)).toEqual([text]);
});

test("a discriminator says what it may be", () => {
  const auth = z.discriminatedUnion("method", [
    z.object({ method: z.literal("none") }),
    z.object({ method: z.literal("token") }),
  ]);
  expect(told(auth, { method: "magic" })?.[0]).toMatch(/'none' \| 'token'/);
});
