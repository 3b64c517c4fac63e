import { expect, test } from "vitest";
import { z } from "zod";
import { decisiveIssue, issueText } from "./issue-text.ts";

const issue = z.union([z.string().min(1), z.int()]);
const told = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(issueText);

test.each<[string, z.ZodType, unknown, string]>([
  ["a missing member", z.object({ a: z.string() }), {}, "is required; it must be a string"],
  ["another type", z.object({ a: z.string() }), { a: 1 }, "must be a string"],
  ["null", z.object({ a: z.string() }), { a: null }, "must be a string; it is null"],
  ["a fraction", z.int(), 1.5, "must be a whole number"],
  ["a text instead of an array", z.array(z.string()), "a", "must be an array"],
  ["a text instead of a boolean", z.boolean(), "yes", "must be true or false"],
  [
    "a time without a zone",
    z.iso.datetime(),
    "2026-01-31",
    "must be a time in ISO 8601 with a zone, for example 2026-01-31T09:30:00Z",
  ],
  [
    "an empty name of a member",
    z.record(z.string().min(1), z.string()),
    { "": "a" },
    "the name of this member must have at least 1 character",
  ],
  ["a missing union", z.object({ a: issue }), {}, "is required; it must be a string or a number"],
  ["a union of other types", z.object({ a: issue }), { a: true }, "must be a string or a number"],
  ["a union whose type is right", z.union([z.string(), z.object({ b: z.string() })]), { b: 1 }, "b: must be a string"],
  ["another word", z.enum(["queued", "held", "running"]), "runing", "must be queued, held or running"],
  ["another constant", z.literal(true), false, "must be true"],
  ["a number that is too big", z.int().max(1000), 1001, "must be at most 1000"],
  ["a number that is too small", z.int().min(1), 0, "must be at least 1"],
  ["a number that is not above a bound", z.int().positive(), 0, "must be more than 0"],
  ["a number that is not below a bound", z.number().lt(1), 1, "must be less than 1"],
  ["a text that is too long", z.string().max(1), "ab", "must have at most 1 character"],
  ["too few items", z.array(z.string()).min(2), ["a"], "must have at least 2 items"],
  ["a message of the schema", z.string().min(1, "must not be empty"), "", "must not be empty"],
  ["another id", z.uuid(), "123", "must be a UUID such as 01a2172f-394d-7000-8f50-d95a74cff9e8"],
  ["an unknown member", z.strictObject({ state: z.string().optional() }), { stat: "failed" }, 'has no member "stat"'],
  ["a missing record", z.object({ a: z.record(z.string(), z.string()) }), {}, "is required; it must be an object"],
])("%s", (_, schema, value, text) => {
  expect(told(schema, value)).toEqual([text]);
});

test("a discriminator says what it may be", () => {
  const auth = z.discriminatedUnion("method", [
    z.object({ method: z.literal("none") }),
    z.object({ method: z.literal("token") }),
  ]);
  expect(told(auth, { method: "magic" })).toEqual(["must be none or token"]);
});

test("of two bounds, the one that decides", () => {
  const { error } = z.int().max(2147483647).safeParse(1e30);
  expect(decisiveIssue(error?.issues ?? [])).toMatchObject({ maximum: 2147483647 });
});
