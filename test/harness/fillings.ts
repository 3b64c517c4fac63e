import fc from "fast-check";

/** Content with which a stranger fills a body. */
export interface Filling {
  readonly text: string;
  /** The JSON of an array, because writing millions of items costs more than what a test measures. */
  readonly list: string;
  /** The JSON of an object, for the same reason. */
  readonly members: string;
}

/** A member with this value has the value of a filling in the JSON of `jsonAround`. */
export const here = "<filling>";

/** The JSON of an object, with the JSON of a filling in each place that is `here`. */
export const jsonAround = (object: unknown, filling: string): string =>
  JSON.stringify(object).replaceAll(JSON.stringify(here), () => filling);

/** A list in a list, so many levels deep. */
const nested = (levels: number): unknown[] => (levels === 0 ? [] : [nested(levels - 1)]);

/** Each member of a filling, made when it is called, because most tests send one of the three. */
export type LazyFilling = { readonly [Name in keyof Filling]: () => Filling[Name] };

/** Fillings whose JSON has about `size` bytes. */
export const filled = (size: number): fc.Arbitrary<LazyFilling> => {
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
  return fc.record({ piece, item, key }).map(({ piece, item, key }) => ({
    text: () => {
      const each = JSON.stringify(piece).length - 2;
      return piece.repeat(size / each);
    },
    list: () => {
      const each = `${JSON.stringify(item)},`;
      return `[${each.repeat(size / each.length).slice(0, -1)}]`;
    },
    members: () => {
      const each = key(size / 20).length + '"":1,'.length;
      return `{${Array.from({ length: Math.floor(size / each) }, (_, i) => `"${key(i)}":1`)}}`;
    },
  }));
};

/** A filling of which only one member is made. */
export const only = (name: keyof Filling, lazy: LazyFilling): Filling => ({
  text: "",
  list: "[]",
  members: "{}",
  [name]: lazy[name](),
});
