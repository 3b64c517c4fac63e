import { cutMarkdown } from "@signalbox/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { idleStall, maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { defuse } from "./defuse.ts";
import { isOwn } from "./images.ts";
import { redact } from "./redact.ts";
import { SecretFinder } from "./secret-finder.ts";

const options = { allow: [], participants: new Set(["ann", "bob-x"]), hosts: ["github.com", ".githubusercontent.com"] } as const;
const safe = (text: string) => defuse(text, options);
/** The text as people read it: without the joiners. */
const read = (text: string) => text.replaceAll("\u200d", "");

describe("mentions, closing keywords and commands are defused, and read the same", () => {
  const live = {
    mention: /(?<![A-Za-z0-9`])@(?:everyone|here|all|octo|eve|dependabot|renovate)\b/i,
    closing:
      /\b(?:close[sd]?|closing|fix(?:e[sd]|ing)?|resolve[sd]?|implements)\b:? +\S*(?:#\d|&#35;\d|[A-Z]+-\d|[A-Za-z]+&\d|gh-\d|\/issues\/)|[A-Z]-\d+ .*#[a-z]/i,
    command: /^\s*(?:\/[a-z]+\b(?!\/)|bors r|!deploy|\.deploy|sweep:)|retest this|jenkins,? test this/im,
  };
  test.each([
    "@everyone look, cc @here and @octo/team, (@eve) @all",
    "\\@everyone and **@eve**",
    "_@eve_ and __@eve__, @@eve, `@eve without an end",
    "@dependabot merge",
    "Fixes #1, closes octo/app#2 and Resolves: https://github.com/o/r/issues/3",
    "fixed GH-1. Closing #4, #5 and implements group/sub/proj#6, fixes !7",
    "Fixes **#1** and closes CONF-12",
    "CONF-1 #close #comment done",
    "fixes gh-1, closes &12 and resolves &#35;3",
    "/close\n  /approve\n/label ~bug\ntext",
    "bors r+\n!deploy prod\n.deploy\nretest this please",
    "Flaky: retest this please. Jenkins, test this please!\nsweep: rename it",
    "One line\r\n/close\r\n\r\n@eve",
  ])("%s", (text) => {
    const shown = safe(text);
    expect(read(shown)).toBe(text);
    for (const pattern of Object.values(live)) expect(shown).not.toMatch(pattern);
  });
  test("participants are notified, also by a name at the end of a sentence; bots never", () => {
    expect(safe("Thanks @Ann and @bob-x.")).toBe("Thanks @Ann and @bob-x.");
    const bot = { ...options, participants: new Set(["dependabot[bot]", "dependabot", "ci-bot"]) };
    expect(defuse("@dependabot merge, @ci-bot go", bot)).not.toMatch(/@[a-z]/);
  });
  test("accounts of Jira are notified as participants only, however their mention is spelled", () => {
    const unknown = [
      "[Ann](accountid:eve)",
      "[x](<accountid:eve>)",
      "[x][r]\n\n[r]: accountid:eve",
      "[~eve]",
      "[~accountid:eve]",
    ];
    const spelled = ["&#97;ccountid:eve", "account&#x69;d:eve", "accountid\\:eve", "accountid&colon;eve", "accountid&#058;eve"];
    for (const text of [...unknown, ...spelled.map((address) => `[Ann](${address})`)]) {
      expect(read(safe(text))).toBe(text);
      expect(safe(text), text).toMatch(/(?::|;|~)\u200deve/);
    }
    for (const text of ["[@Ann](accountid:ann)", "[x](accountid:bob-x)", "[~ann]", "[~accountid:Ann]"])
      expect(safe(text)).toBe(text);
  });
  test("a policy may allow each", () => {
    const text = "@eve fixes #1\n/close\n![x](https://evil.example/x.png)";
    expect(defuse(text, { ...options, allow: ["mentions", "images", "closing", "commands"] })).toBe(text);
  });
  test("what a character reference hides is defused too", () => {
    expect(safe("&#64;everyone &#x40;eve &commat;eve")).toBe("&#64;\u200deveryone &#x40;\u200deve &commat;\u200deve");
    for (const text of ["&#064;eve", "&#x0040;eve", "@&#101;ve", "&#64;&#101;ve", "@ann&#101;", "@ann&#45;x", "@ann&sol;team"])
      expect(safe(text)).toMatch(/^(?:@|&#\w+;)\u200d/);
    expect(safe("@ann&bob, @ann & @ann.")).toBe("@ann&bob, @ann & @ann.");
    for (const text of ["fixes &#035;3", "fixes #&#51;", "f&#105;xes #3", "&#x46;&#x69;xes #3", "clo&#115;e GH-&#49;"]) {
      expect(read(safe(text))).toBe(text);
      expect(safe(text), text).toMatch(/^(?:[a-z]|&#\w+;)\u200d/);
    }
    const marks = ["fixes octo/app&#35;3", "fixes octo/app#&#51;", "fixes octo&sol;app#3", "fixes&#32;#3", "fixes&nbsp;#3"];
    marks.push(
      "fixes&#58; #3",
      "fixes&colon;&Tab;&num;3",
      "fixes GH&#45;3",
      "fixes &#67;ONF-1",
      "fixes &amp;3",
      "closes &excl;3",
    );
    for (const text of [...marks, "&num;1 &num;2 fixes&#32;#3 &num;4", "[&#35;](x) fixe&#115; #3"]) {
      expect(read(safe(text))).toBe(text);
      expect(safe(text), text).toMatch(/[fc]\u200d(?:ix|lo)/);
    }
    const crowd = "&amp;".repeat(20_001);
    for (const text of ["fixes&nbsp;#3", "f&#105;xes #3"])
      expect(defuse(crowd + text, { ...options, allow: ["mentions"] })).toMatch(/f\u200dixes|f&\u200d#/);
    for (const text of ["fixes&nbsp;it", "a&amp;b closes", "prefixes&nbsp;#3"]) expect(safe(text)).toBe(text);
  });
  test("a participant is notified if a character reference after the name cannot continue it", () => {
    const ends = [
      "&nbsp;hi",
      "&#39;s turn",
      "&#x27;s",
      "&mdash;x",
      "&amp;bob",
      "&#8217;s",
      "&rsquo;s",
      ".&nbsp;Hi",
      "&lt;a",
      "&quot;",
    ];
    for (const end of ends) expect(safe(`@ann${end}`)).toBe(`@ann${end}`);
    const continued = [
      "&#46;b",
      "&period;b",
      "&lowbar;b",
      "&UnderBar;b",
      "&fjlig;",
      "&#95;b",
      "&eacute;",
      "&#233;",
      "&#8203;e",
      "&xyz;",
    ];
    for (const more of [...continued, "&constructor;", "&#99999999;", ".&#101;", "-&#101;", "--&sol;b"])
      expect(safe(`@ann${more}`), more).toMatch(/^@\u200dann/);
  });
});

test.each([
  ["![alt](https://evil.example/x.png)", "[alt](https://evil.example/x.png)"],
  ["![](https://evil.example/x.png?d=1)", "[image](https://evil.example/x.png?d=1)"],
  ["![a][r]\n\n[r]: https://evil.example/x", "[a][r]\n\n[r]: https://evil.example/x"],
  ["![a](data:image/png;base64,AAAA)", "[image: a]"],
  ["!![a](https://evil.example/x)", "! [a](https://evil.example/x)"],
  ["\\!![a](https://evil.example/x)", "\\! [a](https://evil.example/x)"],
  ["!!![a][r]\n\n[r]: https://evil.example/x", "!! [a][r]\n\n[r]: https://evil.example/x"],
  ["!\u200b![](https://evil.example/x)", "! [image](https://evil.example/x)"],
  ["!![a](data:x)(https://evil.example/x)", "[image: a](https://evil.example/x)"],
  ['!<img src="https://evil.example/x" alt="a">', "! [a](https://evil.example/x)"],
  [
    '!<img alt="a" src="https://evil.example/x">!<img src="https://evil.example/y">',
    "! [a](https://evil.example/x)! [image](https://evil.example/y)",
  ],
  ["!![ok](docs/a.png)", "!![ok](docs/a.png)"],
  ["![a](data:x y) ![b](data:y)", "[a](data:x y) [image: b]"],
  ["![a](data:![b](data:x)", "[image: a]"],
  ["![a ![b](data:x)", "[a [image: b]"],
  ['<img src="https://evil.example/x.png" alt="a">', "[a](https://evil.example/x.png)"],
  ["<img/src=https://evil.example/x>", "&lt;img/src=https://evil.example/x>"],
  ["![a](//evil.example/x)", "[a](//evil.example/x)"],
  ["![a](&#104;ttps://evil.example)", "[a](&#104;ttps://evil.example)"],
  [
    "<picture><source srcset='https://evil.example/x'></picture>",
    "<picture>&lt;source srcset='https://evil.example/x'></picture>",
  ],
  ['<td background="https://evil.example/x">', '&lt;td background="https://evil.example/x">'],
  ["<a b style=c style='background:url(x)'>", "&lt;a b style=c style='background:url(x)'>"],
  ["<a url style=c>", "<a url style=c>"],
  ["<style>p{background:url(https://evil.example)}</style>", "&lt;style>p{background:url(https://evil.example)}&lt;/style>"],
  [
    "![ok](docs/a.png) ![ok](https://user-images.githubusercontent.com/1/a.png)",
    "![ok](docs/a.png) ![ok](https://user-images.githubusercontent.com/1/a.png)",
  ],
])("images of other hosts become links: %s", (text, expected) => {
  expect(safe(text)).toBe(expected);
});
test("code is no way around: in the name of an image, in an attribute, or in more pieces than are looked at", () => {
  expect(safe("![a`x`](https://evil.example/x.png)")).toBe("[a`x`](https://evil.example/x.png)");
  expect(safe('<img alt="`x`" data-a="`y`" src="https://evil.example/x"> `z`')).not.toContain("<img");
  expect(safe("!![a](//evil.example/x)".repeat(1_001))).not.toContain("![");
  const styled = "<b style=bold>a</b>".repeat(1_001);
  expect(safe(`${styled}<b style=background:url(//evil.example/x)>`)).not.toContain("<b style");
  expect(safe(`${"`a` ".repeat(30_000)}@eve`)).toMatch(/@\u200deve$/);
  expect(safe("`a`\uffff`b` @eve")).toBe("`a``b` @\u200deve");
});

test("no text of 1 MiB takes the processor for long", async () => {
  const pieces = [
    "`a`\n",
    "`a",
    "`",
    "```\na\n```\n",
    "~~~\n",
    "@a`b`",
    "@",
    "@a ",
    "&#64;",
    "&#64;a ",
    "f&#105;",
    "fixes&#32;#3 ",
    "fixes&nbsp;",
    "fixes #",
    "@a&amp;",
    "@a---",
    "![a](x) ",
    "<img src=x>",
  ];
  pieces.push("![", "![a](", "![a](data:", '![a](data:x "', "\\![", "<a style=", " style=", "<a\tbackground=/");
  const named = { ...options, participants: new Set(["a"]) };
  const idle = await idleStall();
  const stalls: [piece: string, stall: number][] = [];
  for (const piece of pieces) {
    const text = repeat(piece, mebibyte);
    defuse(text.slice(0, 100_000), named);
    stalls.push([piece, await repeatedStallOf(async () => defuse(text, named))]);
  }
  expect(
    stalls.filter(([, stall]) => stall > maxStallMs + idle),
    `idle: ${idle} ms`,
  ).toEqual([]);
});

test("an ambiguous address does not count as our own", () => {
  for (const address of [
    "//evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "https://github.com@evil.example",
    "javascript:x",
  ])
    expect(isOwn(address, ["github.com"]), address).toBe(false);
});

const ordinary = [
  "## Analysis\n\nThe fault is in `load()`:\n\n```ts\n@Injectable()\nexport class A {} // fixes #1\n```\n\n| a | b |\n|---|---|\n| 1 | `@x` |\n",
  "Thanks @ann! See #12 and octo/app#3, [the docs](https://example.com/a?b=c#d) and https://example.com. 👍🏽 👨‍👩‍👧",
  "- [x] done\n- [ ] open\n\n> quoted\n\nMail ann@example.com, run `npm i @types/node`, path /usr/bin/node, 1/2, a/b.",
  "<details><summary>Log</summary>\n\n```\n/close\n@everyone\n![x](https://evil.example/x)\n```\n\n</details>\n",
  "Это исправление. مرحبا. 你好，修复了。 The fix for the closing bracket resolves it; I closed 3 tabs.",
  "Written on Windows:\r\n\r\n- item\r\n\r\n  ```\r\n  @eve\r\n\r\n  /close\r\n  ```\r\n\r\nCould you test this please?\r\n",
  "Text with ~~~strike~~~, `a` and ``b ` c``, and a footnote[^1].\n\n[^1]: here\n",
];
test.each(ordinary)("an ordinary comment passes unchanged: %#", (text) => {
  expect(redact(safe(text), new SecretFinder([])).text).toBe(text);
});
test("plain words pass unchanged", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."abcdefg ABC.,;:é👍\n") }), (text) => safe(text) === text));
});

test("a long text is cut at a paragraph, and says so", () => {
  const text = `${"word ".repeat(30).trim()}\n\n`.repeat(20);
  const cut = cutMarkdown(text, 1_000);
  expect(cut.length).toBeLessThanOrEqual(1_000);
  expect(cut).toMatch(
    /word\n\n> \*\*Cut off\.\*\* This text has 3020 characters, but a comment can have only 1000\. The end is missing\.$/,
  );
  const code = cutMarkdown(`\`\`\`\n${"line\n".repeat(1_000)}\`\`\``, 500);
  expect(code).toMatch(/line\n```\n\n> \*\*Cut off/);
  expect(cutMarkdown(text.replaceAll("\n", "\r\n"), 1_000)).toMatch(/word\n\n> \*\*Cut off/);
  expect(cutMarkdown("short", 10)).toBe("short");
  for (const signature of ["<sub>pm · run 1</sub>", "*pm · [run 1](https://example.com/run/1)*"])
    expect(cutMarkdown(`${text.trim()}\n\n${signature}`, 1_000)).toMatch(/\n\n> \*\*Cut off[^\n]*\n\n/);
  expect(cutMarkdown(`${text.trim()}\n\n*pm · run 1*`, 1_000).endsWith("The end is missing.\n\n*pm · run 1*")).toBe(true);
});
