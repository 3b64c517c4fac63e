import fc from "fast-check";
import { expect, test } from "vitest";
import { hasMoreValuesThan } from "./json.ts";

/** Members and list items of a value, less one for each container that has any. */
const commasOf = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0;
  const inner: unknown[] = Object.values(value);
  return Math.max(0, inner.length - 1) + inner.reduce((sum: number, one) => sum + commasOf(one), 0);
};

test("members and list items are counted, commas in texts and names are not", () => {
  const text = fc.string({ unit: fc.constantFrom(",", '"', "\\\\", ":", "[", "{", "a", "\n"), maxLength: 12 });
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.integer(),
      fc.array(tie("tree"), { maxLength: 6 }),
      fc.dictionary(text, tie("tree"), { maxKeys: 6 }),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 20 }), (value, most) => {
      const json = Buffer.from(JSON.stringify(value));
      expect(hasMoreValuesThan(most, json)).toBe(commasOf(value) >= most);
    }),
  );
});
