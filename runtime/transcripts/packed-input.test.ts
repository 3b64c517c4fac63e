import fc from "fast-check";
import { expect, test } from "vitest";
import { packedStep, withInput } from "./packed-input.ts";

test("a prompt is read as it was written, packed or not; other steps are not packed", () => {
  const text = fc.string({ maxLength: 4_000, unit: "grapheme" });
  fc.assert(
    fc.property(
      text,
      fc.constantFrom("prompt", "model", "tool", "post"),
      fc.integer({ min: 1, max: 5 }),
      (words, kind, times) => {
        const step = { kind, input: { messages: [{ role: "user", content: words.repeat(times) }] } };
        const { packed, ...row } = packedStep(step);
        if (kind !== "prompt") expect(packed).toBeUndefined();
        if (packed !== undefined) expect(packed.length).toBeLessThan(JSON.stringify(step.input).length * 2);
        const stored = { ...row, packed: packed === undefined ? null : Buffer.from(packed, "base64") };
        expect(withInput(stored)).toEqual(step);
      },
    ),
  );
});

test("a prompt in prose takes less than half", () => {
  const words =
    "the order total is wrong after a reload of the page and the discount code is applied twice in the cart of the customer".split(
      " ",
    );
  const content = Array.from({ length: 500 }, (_, n) => words[(n * n * 7 + n) % words.length]).join(" ");
  const { packed, input } = packedStep({ kind: "prompt", input: { content } as unknown });
  expect([input, (packed ?? "").length < content.length / 2]).toEqual([null, true]);
});
