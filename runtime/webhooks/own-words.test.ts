import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { mentions } from "./conditions.ts";
import { ownWords } from "./own-words.ts";

const isSaid = (text: string) => mentions(ownWords(text), "@bot");

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
  "{code:java}x{code} @bot",
  "{quote}x{quote}\n@bot",
  "<code> is an element, @bot",
  "{quote} is a macro, @bot",
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
  "{code:java}\n@bot\n{code}",
  "{noformat}@bot{noformat}",
  "{quote}@bot{quote}",
  "{{@bot}}",
  "bq. @bot",
])("%j does not", (text) => expect(isSaid(text)).toBe(false));

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
  ];
  for (const piece of pieces) {
    const stall = await repeatedStallOf(async () => ownWords(repeat(piece, 200_000)));
    expect(stall, piece).toBeLessThan(maxStallMs + idle);
  }
});
