import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { mentions } from "./conditions.ts";
import { ownWords, type TextFormat } from "./own-words.ts";

const isSaid = (text: string, format: TextFormat = "markdown") => mentions(ownWords(text, format), "@bot");

test.each([
  "@bot",
  "Please @bot look",
  "`code` @bot `code`",
  "a ` b @bot",
  "a \\` b @bot \\` c",
  "``x ` y`` @bot",
  "```\ncode\n```\n@bot",
  "~~~\n```\n~~~\n@bot",
  "> quoted\n\n@bot do it",
  "> quoted\n@bot do it",
  ">>>\nquoted\n>>>\n@bot",
  "- item\n\n    @bot in the item",
  "text\n    @bot continues it",
  "a < b and @bot > c",
  "<blockquote>a<blockquote>b</blockquote>c</blockquote>@bot",
  "<p>Hi <code>x</code> @bot</p>",
  "<code> is an element, @bot",
  "`<code>` begins it, @bot, and `</code>` ends it",
  "a {code} b\n@bot\nc {code} d",
  "bq. @bot",
  "\u2028>>>\n@bot\n\u2028>>>",
])("%j says it", (text) => expect(isSaid(text)).toBe(true));

test.each([
  "`@bot`",
  "`a\n@bot`",
  "`` ` @bot ``",
  "```\n@bot\n```",
  "~~~sh\n@bot\n~~~",
  "```\n@bot",
  "- ```\n  @bot\n  ```",
  "> @bot",
  "text\n> > @bot",
  "- > @bot",
  "> ```\n> @bot\n> ```",
  ">>>\n@bot\n>>>",
  "text\n\n    @bot\n",
  "\t@bot",
  "<pre>\n@bot\n</pre>",
  "<CODE class='x'>@bot</CODE>",
  "<blockquote>a<blockquote>b</blockquote>@bot</blockquote>",
  ">>>\r\n@bot\r\n>>>\r\n",
  "text\r\n\r\n    @bot",
  "text\r\r    @bot",
])("%j does not", (text) => expect(isSaid(text)).toBe(false));

test.each([
  "{code:java}x{code} @bot",
  "{quote}x{quote}\n@bot",
  "{quote} is a macro, @bot",
  "`{quote}` begins it, @bot, and `{quote}` ends it",
  "text\n\n    @bot",
  "<code>{code}x{code} @bot",
])("%j says it in wiki markup", (text) => expect(isSaid(text, "wiki")).toBe(true));

test.each([
  "{code:java}\n@bot\n{code}",
  "{noformat}@bot{noformat}",
  "{quote}@bot{quote}",
  "{{@bot}}",
  "bq. @bot",
  "text\r\n bq. @bot",
  "> @bot",
  "`@bot`",
])("%j does not in wiki markup", (text) => expect(isSaid(text, "wiki")).toBe(false));

test("HTML has code only in elements, and indented text of an unknown format counts", () => {
  const html = "<div>\n\n      <p>@bot please</p>\n</div>";
  expect(isSaid(html, "html")).toBe(true);
  expect(isSaid("<p>{code} @bot {code}</p>", "html")).toBe(true);
  expect(isSaid("<code>{code}</code> @bot {code}", "html")).toBe(true);
  expect(isSaid("<pre><code>@bot</code></pre>", "html")).toBe(false);
  expect(isSaid(html, "unknown")).toBe(true);
  expect(isSaid("a {code} @bot {code}", "unknown")).toBe(true);
  expect(isSaid("```\n@bot\n```", "unknown")).toBe(false);
});

test("no text of the length that is filtered takes the processor for long", async () => {
  const idle = await idleStall();
  const pieces = [
    "`",
    "` `` ``` ",
    "<code>",
    "<code",
    "</code><code>",
    "{code}",
    "{code:a}",
    "{{",
    "> ",
    ">>>\n",
    "```\n",
    "\n\n    a",
    "- 1. ",
    "\n",
    "\n ",
    "\r",
    "\r\n\t",
    "\r>>>\n",
    "\u2028>>>\n",
    "\n>>> ",
    "\nbq. ",
    "\n1",
    " ",
  ];
  for (const format of ["markdown", "html", "wiki", "unknown"] as const)
    for (const piece of pieces) {
      const stall = await repeatedStallOf(async () => ownWords(`@signalbox${repeat(piece, 199_900)}`, format));
      expect(stall, `${format} ${JSON.stringify(piece)}`).toBeLessThan(maxStallMs + idle);
    }
});

test("a prompt of Python in code begins no quotation", () => {
  const pasted = (code: string) => `\`\`\`\n>>> ${code}\n>>> \n\`\`\`\n`;
  expect(isSaid(`First:\n${pasted("f()")}@bot please explain. Also:\n${pasted("g()")}`)).toBe(true);
  expect(isSaid(">>>\n@bot\n>>>\nSo do I.")).toBe(false);
  expect(isSaid(">>>\nquoted\n>>>\n@bot\n>>>\n")).toBe(true);
});

test("outside of Markdown, a fence that does not end is none", () => {
  for (const format of ["wiki", "unknown"] as const) {
    expect(isSaid("~~~ approx ~~~\n@bot", format)).toBe(true);
    expect(isSaid("```\n@bot please", format)).toBe(true);
    expect(isSaid("```\n@bot please\n```", format)).toBe(false);
  }
  expect(isSaid("```\n@bot please")).toBe(false);
});
