import fc from "fast-check";

/** Content with which a stranger fills a body. */
export interface Filling {
  readonly text: string;
  readonly list: readonly unknown[];
  readonly members: Readonly<Record<string, unknown>>;
}

/** A list in a list, so many levels deep. */
const nested = (levels: number): unknown[] => (levels === 0 ? [] : [nested(levels - 1)]);

/** Fillings whose JSON has about `size` bytes. */
export const filled = (size: number): fc.Arbitrary<Filling> => {
  const piece = fc.constantFrom(
    ...[
      "ab c\n",
      '"\\',
      "\u0001",
      "\u{1F600}é",
      "<b>",
      "<!--",
      "> ",
      "a\n=\n",
      "[x](",
      "`",
      "*_",
      "@a ",
      "&lt;",
      "{{",
      "<a href=x>",
      "|-",
    ],
  );
  const item = fc.constantFrom<unknown>(
    1,
    "ab",
    {},
    [],
    null,
    { name: "a" },
    { id: 3, login: "bob" },
    { type: "text", text: "a" },
    [[[]]],
    nested(60),
  );
  const key = fc.constantFrom(
    (i: number) => `k${i.toString(36)}`,
    (i: number) => String(i * 7),
    (i: number) => `__proto__${i}`,
  );
  return fc.record({
    text: piece.map((one) => {
      const each = JSON.stringify(one).length - 2;
      return one.repeat(size / each);
    }),
    list: item.map((one) => Array(Math.floor(size / (JSON.stringify(one).length + 1))).fill(one)),
    members: key.map((name) => {
      const each = name(size / 20).length + '"":1,'.length;
      return Object.fromEntries(Array.from({ length: Math.floor(size / each) }, (_, i) => [name(i), 1]));
    }),
  });
};
