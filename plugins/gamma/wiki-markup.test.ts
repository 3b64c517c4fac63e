import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isMarked, markdownOf, markedBody } from "./bodies.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";

describe("Server's wiki markup", () => {
  test("every part", () => {
    const markdown =
      "# T*i*tle\n\na **b** ~~c~~ `d{e}` [f](https://x.y/z|1) <br>@ann\n\n- one\n  1. two\n- [x] three\n\n> q\n\n| a | b |\n| - | - |\n| 1\\|2 | 3 |\n\n```ts\nx {code} y\n```\n\n---";
    expect(markdownToWiki(markdown)).toBe(
      "h1. T{_}i{_}tle\n\na {*}b{*} {-}c{-} {{d\\{e\\}}} [f|https://x.y/z%7C1] \n@ann\n\n* one\n*# two\n* \\[x\\] three\n\n{quote}\nq\n{quote}\n\n||a||b||\n|1\\|2|3|\n\n{code:ts}\nx {\u2060code} y\n{code}\n\n----",
    );
  });

  test("nothing ends code or a quotation but its own end", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            "{code}",
            "{quote}",
            "{noformat}",
            "```",
            "\n",
            "> ",
            "x",
            "{CODE:java}",
            "{{",
            "}}",
            "[~bob]",
            "!a.png!",
          ),
          { maxLength: 30 },
        ),
        (parts) => {
          const wiki = markdownToWiki(parts.join(""));
          const macros = [...wiki.matchAll(/(?<!\\)\{(code|quote|noformat)(?::\w+)?\}/gi)].map(([, name]) =>
            String(name).toLowerCase(),
          );
          expect(macros.filter((name) => name === "code").length % 2).toBe(0);
          expect(macros.filter((name) => name === "quote").length % 2).toBe(0);
          expect(macros).not.toContain("noformat");
          const outside = wiki.replace(/\{code\}\n[\s\S]*?\n\{code\}/g, "");
          expect(outside).not.toMatch(/(?<!\\)\[~bob/);
          expect(outside).not.toMatch(/(?<!\\)!a\.png(?<!\\)!/);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("the marker is known in front of everything, and taken off", () => {
    for (const markdown of ["text", "# title", "- item", "```\ncode\n```", "> quote", "| a |\n| - |", "---", "**b**"]) {
      const body = markedBody(markdown, "k", { is_cloud: false });
      expect(isMarked(body, "k"), markdown).toBe(true);
      expect(markdownOf(body)).not.toMatch(/[\u2060-\u2064]/);
    }
  });
});
