import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "./plugin.ts";

const schemas = { about: "Adds a label.", input: z.object({ name: z.string() }), output: z.object({ id: z.string() }) };
const run = ({ name }: { name: string }) => ({ id: name });

test("a write that is neither idempotent nor has find is refused, by the types and when it is defined", () => {
  // @ts-expect-error: a write needs `idempotent: true` or `find`.
  expect(() => tool({ ...schemas, effect: "write", run })).toThrow(/a write needs `idempotent: true`/);
  // @ts-expect-error: it says that it may not be repeated.
  expect(() => tool({ ...schemas, effect: "write", idempotent: false, run })).toThrow(/a write needs/);
});

test("all other tools are accepted, and their functions have the types of their schemas", () => {
  expect(tool({ ...schemas, effect: "read", run }).effect).toBe("read");
  expect(tool({ ...schemas, effect: "write", idempotent: true, run: ({ name }) => ({ id: name }) }).idempotent).toBe(true);
  const found = tool({ ...schemas, effect: "write", run, find: async ({ name }, { key }) => ({ id: `${name} ${key}` }) });
  expect(found.find).toBeTypeOf("function");
  // @ts-expect-error: the output has no id.
  tool({ ...schemas, effect: "read", run: ({ name }) => ({ name }) });
});
