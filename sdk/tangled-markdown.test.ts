import { describe, expect, test } from "vitest";
import { isTangled } from "./tangled-markdown.ts";

describe("isTangled", () => {
  test.for(["_[", "*", "**a", "[", "> ", "- ", "1. ", "~a", "a*b_", "`a``", "|", "> - ", "[a](", "[^"])(
    "%j over and over is",
    (sign) => expect(isTangled(sign.repeat(16_000))).toBe(true),
  );
  test("what people write is not", () => {
    const paragraph = "Some **bold** words, a [link](https://example.com), `code` and snake_case.\n\n";
    expect(isTangled(paragraph.repeat(400))).toBe(false);
    expect(isTangled(`\`\`\`json\n${'{"a_b": [1, 2]},\n'.repeat(1000)}\`\`\`\n`)).toBe(false);
    expect(isTangled(`${"| a | b |\n".repeat(300)}`)).toBe(false);
    expect(isTangled("> > > a\n- - - b\n    - c\n")).toBe(false);
  });
  test("a long text is judged at once", () => {
    const started = performance.now();
    isTangled(`${"word ".repeat(20)}\n`.repeat(10_000));
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
