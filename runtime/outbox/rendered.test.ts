import fc from "fast-check";
import { fromHtml } from "hast-util-from-html";
import { toHtml } from "hast-util-to-html";
import { marked } from "marked";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toHast } from "mdast-util-to-hast";
import { gfm } from "micromark-extension-gfm";
import { expect, test } from "vitest";
import { idleStall, maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { defuse } from "./defuse.ts";

const options = { allow: [], participants: new Set(["ann"]), hosts: ["github.com"] } as const;
const safe = (text: string) => defuse(text, options);

/** Two readings of Markdown, neither of which removes elements. Platforms do, so this is more than they would show. */
const readings: Readonly<Record<string, (markdown: string) => string>> = {
  micromark: (markdown) => {
    const tree = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
    return toHtml(toHast(tree, { allowDangerousHtml: true }), { allowDangerousHtml: true });
  },
  marked: (markdown) => marked.parse(markdown, { async: false, gfm: true }),
};

interface Node {
  readonly tagName?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly value?: string;
  readonly children?: readonly Node[];
  readonly content?: Node;
}

const isForeign = (value: unknown): boolean => {
  if (/url\(/i.test(String(value))) return true;
  return [value].flat().some((address) => new URL(String(address).trim(), "https://github.com").hostname !== "github.com");
};

const loading = /^(?:img|image|source|video|audio|iframe|embed|object|input|script|track|link|use)$/;

/** What a reader's browser would load from elsewhere, and whom the text would notify. */
function effectsOf(node: Node, inCode = false): string[] {
  const { tagName = "", properties = {}, value = "", children = [], content } = node;
  const code = inCode || tagName === "code" || tagName === "pre";
  const loads = [
    "background",
    "style",
    ...(loading.test(tagName) ? ["src", "srcSet", "poster", "data", "href", "xLinkHref"] : []),
  ]
    .filter((name) => properties[name] !== undefined && isForeign(properties[name]))
    .map((name) => `${tagName} loads ${String(properties[name])}`);
  const notified = tagName === "" && !code && /(?<![\w\u200d])@(?:eve|octo)\b/i.test(value) ? [`notifies in ${value}`] : [];
  return [...loads, ...notified, ...[...children, ...(content ? [content] : [])].flatMap((one) => effectsOf(one, code))];
}

const effects = (text: string): string[] =>
  Object.entries(readings).flatMap(([name, read]) =>
    effectsOf(fromHtml(read(text), { fragment: true }) as unknown as Node).map((effect) => `${name}: ${effect}`),
  );

const beacon = '<img src="https://evil.test/p.png">';
test.each([
  // What looks like code, but begins inside something else.
  ...["[x](/`y) @eve `", '[x](/u "`") @eve `', "[x][`] @eve `\n\n[`]: /u", "[^`] @eve `\n\n[^`]: x", "https://a.test/`x @eve `"],
  ...["www.a.test/`x @eve `", `https://a.test/\`${beacon}\``, 'a <b title="`"> @eve `', "a <!-- ` --> @eve `", "a <?`?> @eve `"],
  ...["a ` b\nc ` @eve ` d", "a <b\ntitle='`'> @eve `", "| a | b |\n|--|--|\n| ` | @eve ` |", "- |a|b|\n  |-|-|\n  |`|@eve `|"],
  ...[
    `<pre>\n\n\`${beacon}\`\n</pre>`,
    `<!-- a\n\n-->\`${beacon}\``,
    `a \` b\n<pre>\n\n\`${beacon}\`\n</pre>`,
    `- <pre>\n\n  \`${beacon}\`\n  </pre>`,
  ],
  // Lines of HTML whose beginning or end is easily missed.
  ...[
    `- <details>\n    \`${beacon}\``,
    `1. <details>\n   \`${beacon}\``,
    `[^1]: <details>\n    \`${beacon}\`\n\nx[^1]`,
    `${">".repeat(41)} <div>\n${">".repeat(41)} \`${beacon}\``,
    `<div>\n\u00a0\n\`${beacon}\``,
    `\`\`\`\na\n\`\`\`\u00a0\n\`\`\`\n${beacon}\n- \`\`\`\n  x\n  \`\`\``,
  ],
  // An address of our own that no platform reads as the address of the image.
  ...[
    "![x](a b\n\n[x]: https://evil.test/p.png",
    "![x](a(b)\n\n[x]: https://evil.test/p.png",
    "![x](\n\na)\n\n[x]: https://evil.test/",
  ],
  ...[
    '![x](a "t\\")\n\n[x]: https://evil.test/p.png',
    '![x<b a="](own.png)">](https://evil.test/p.png)',
    "![x\n](//evil.test/p.png)",
  ],
  // Lines that only look as if a block began there, and backticks that only look escaped.
  ...[
    "a ` b\n2. c ` @eve ` d",
    "1. a\n\nb ` c\n2. d ` @eve ` e",
    "a ` b\n    - c ` @eve ` d",
    "- a\n  1. b\n- c ` d\n  2. e ` @eve ` f",
  ],
  ...["a ` b\n#c ` @eve ` d", "a \\\\` b ` @eve ` c", "a `` b\nc `` @eve `d`", "<div>\n- ` @eve `"],
  ...["a\n3) ```@eve\n```\n", "a\n10) b\n    ~~~\n    @eve\n    ~~~", "[a`b]: //evil.test/`\n\n![a`b]![a`b]"],
  // Fences in items of which it is not clear whether they begin a list.
  ...["- a\n2. ```\n   x\n   ```\n@eve\n\n```\n", "> q\n2. ```\n   x\n   ```\n![x](//evil.test/a)\n\n```\n"],
  ...["-\n  ```\n@eve\n\n  ```\n", "1)\n   ~~~\n![x](//evil.test/a)\n\n   ~~~\n"],
  // Elements that reach further than they seem.
  ...['<b title=">" style="background:url(//evil.test)">', '<b title=" style=" style="background:url(//evil.test)">'],
  ...[
    '<summary><i<td background="https://evil.test">',
    "<b style='background:u\\72l(//evil.test)'>",
    '<summary><b/style="background:url(//evil.test)">',
  ],
])("%s", (text) => {
  expect(effects(text)).not.toEqual([]);
  expect(effects(safe(text))).toEqual([]);
});

test.each([
  "Run `npm test` and `npx @eve/cli`, see [the docs](https://github.com/a/b_(c)) or <https://github.com/>.",
  "<details><summary>Logs</summary>\n\nThe log of `a | b`:\n\n```sh\ncat a | grep '@eve'\n```\n\n</details>",
  "It costs $5; `a` costs $6. <br/> <kbd>x</kbd> `@eve`\n\n| a | b |\n|---|---|\n| `x` | ![ok](docs/a.png) |",
  "Add a `<script>` or `<!--` to the page:\n\n```html\n<script src='https://cdn.test/a.js'></script>\n```\n\nand `@eve`.",
  "The elements `<pre>`, `<style>` and `<!DOCTYPE html>`.\n\n```css\n@media print { a { background: url(//cdn.test/a.png) } }\n```",
  "Type a \\` first, then `npx @eve/cli`; a fence begins with ``` in `@eve` and ends with it.",
  "- Type a ` first.\n- Run `npx @eve/cli`.\n  1. A ` again\n  2. `npx @eve/cli`\n\n# The ` key\nIt is `@eve`.",
  "1. Type a ` first.\n2. Run `npx @eve/cli`,\nor a `\n   - b `@eve`\n3. `@eve`\n10. `` @eve` ``",
  "1. a\n   ```\n   x\n   ```\n2. ```\n   npx @eve/cli\n   ```\n3. **b**\n   > c\n4. ```\n   npx @eve/cli\n   ```",
  '![a picture](https://github.com/a.png "A title") and <img src="https://github.com/a.png" width="10">',
])("an ordinary text passes unchanged: %#", (text) => {
  expect(safe(text)).toBe(text);
});

const pieces = [
  ...[
    "![",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "!",
    "\\",
    "`",
    "``",
    "```\n",
    "~~~\n",
    "\n",
    "\n\n",
    " ",
    "    ",
    "- ",
    "> ",
    "*",
    "_",
    "|",
  ],
  ...[
    "|-|\n",
    "| a | b |\n|---|---|\n",
    "@eve",
    "@octo/team",
    "&#64;eve",
    "https://evil.test/p",
    "//evil.test/p",
    "<https://evil.test/>",
  ],
  ...[
    "[x]: https://evil.test/p\n",
    "![x]",
    "![x][]",
    "![y][x]",
    "![](",
    "![a](https://evil.test/p)",
    "![a](b)",
    "[x](",
    "[a][",
    "[^1]",
  ],
  ...[
    beacon,
    "<img\nsrc='//evil.test'>",
    "<b style='background:url(//evil.test)'>",
    "<b x=",
    "<video poster=https://evil.test/>",
    '"',
    "'",
  ],
  ...[
    "<!--",
    "-->",
    "<?",
    "?>",
    "<pre>",
    "</pre>",
    "<code>",
    "</code>",
    "<details>",
    "\u200d",
    "\u200b",
    "\u202e",
    "$",
    "a",
    "b ",
    "\n    ",
    "\u00a0\n",
    "- <details>\n",
    "[^1]: ",
    "```html\n<b>\n```\n",
    "\\`",
    "[x`y]: //evil.test/`\n",
    "![x`y]",
    "\n1. ",
    "\n2. ",
    "\n# ",
    "\n- ",
  ],
];

test("no text of such pieces notifies strangers or loads what belongs to others", () => {
  const text = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((all) => all.join(""));
  fc.assert(
    fc.property(text, (one) => {
      expect(effects(safe(one)), safe(one)).toEqual([]);
    }),
    { numRuns: 400 },
  );
}, 30_000);

test("no text of 1 MiB takes the processor for long", async () => {
  const slow = ["[x](/`", "[x][`", "<b a='", '<b a="', "<!--", "<!-- a -->`", "$`", "$", "www.", "https://`", "|-", "* "];
  slow.push("`|", "![x](a b");
  slow.push(`- \`${"x".repeat(40)}\n`, `\\\`${"x".repeat(40)}`, `\`${"x".repeat(40)}\n\n`, `1. \`\`${" x".repeat(20)}\n`);
  slow.push("<b style=", "<b style='url", ' style="', "<pre>", "<a ", "<!--\n\n", "<b x\n", "`a|b`\n|-|\n", "[^", "](a ");
  slow.push("<b>/style=", '/style=x"style=y<', "<b/style= ", "`a` ", "[^1]: <b>\n", "> ", "- ");
  const idle = await idleStall();
  const stalls: [piece: string, stall: number][] = [];
  for (const piece of slow) {
    const text = repeat(piece, mebibyte);
    stalls.push([piece, await repeatedStallOf(async () => defuse(text, options))]);
  }
  expect(
    stalls.filter(([, stall]) => stall > maxStallMs + idle),
    `idle: ${idle} ms`,
  ).toEqual([]);
});
