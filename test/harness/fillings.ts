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

const pieces = [
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
];
const items: readonly unknown[] = [
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
];
const keys = [(i: number) => `k${i.toString(36)}`, (i: number) => String(i * 7), (i: number) => `__proto__${i}`];

/** For each member of a filling, its contents of about `size` bytes as JSON, each made when it is called. */
const contents: { readonly [Name in keyof Filling]: (size: number) => readonly (() => string)[] } = {
  text: (size) =>
    pieces.map((piece) => () => {
      const each = JSON.stringify(piece).length - 2;
      return piece.repeat(size / each);
    }),
  list: (size) =>
    items.map((item) => () => {
      const each = `${JSON.stringify(item)},`;
      return `[${each.repeat(size / each.length).slice(0, -1)}]`;
    }),
  members: (size) =>
    keys.map((key) => () => {
      const each = key(size / 20).length + '"":1,'.length;
      return `{${Array.from({ length: Math.floor(size / each) }, (_, i) => `"${key(i)}":1`)}}`;
    }),
};

/** Up to `most` fillings, no two alike, of which only the member `name` is made, when it is called. */
export function fillingsOf(name: keyof Filling, size: number, { most, seed }: { most: number; seed: number }): (() => Filling)[] {
  const all = contents[name](size).map((make) => () => ({ text: "", list: "[]", members: "{}", [name]: make() }));
  const length = Math.min(most, all.length);
  const [chosen = []] = fc.sample(fc.shuffledSubarray(all, { minLength: length, maxLength: length }), { seed, numRuns: 1 });
  return chosen;
}
