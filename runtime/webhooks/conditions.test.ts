import { triggerConditions } from "@signalbox/schema/mappings";
import type { Json, SourceEvent } from "@signalbox/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { idleStall, maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { labelsIn, mentions, newestText } from "./conditions.ts";

const members = [
  "labels",
  "label",
  "name",
  "title",
  "comment",
  "body",
  "object_attributes",
  "note",
  "__proto__",
  "toString",
  "a",
];
const payload = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Json>(null, true, 0, "", "bug", "@ann", "\ud800", "constructor"),
    fc.array(tie("any"), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...members), tie("any")), { maxLength: 4 })
      .map((all) => JSON.parse(`{${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)}}`) as Json),
  ),
})).any;

test("whatever a payload contains, its labels are texts, and so is its newest text", () => {
  fc.assert(
    fc.property(payload, (one) => {
      for (const label of labelsIn(one).names) expect(typeof label).toBe("string");
      const { title, texts } = newestText({ text: "t" } as SourceEvent, one);
      for (const text of [title, ...texts.map((part) => part.text)]) expect(typeof text).toBe("string");
    }),
    { numRuns: 300 },
  );
});

test("a condition is accepted or refused with a reason; one that is accepted can be checked on any text", () => {
  const name = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 12 }),
    fc.constantFrom("@", "@@", "(", "[a-", "\\", "$&", "@İ", ".*"),
  );
  fc.assert(
    fc.property(name, fc.string({ unit: "grapheme", maxLength: 30 }), (mention, text) => {
      const read = triggerConditions.safeParse({ mention });
      if (!read.success) {
        expect(read.error.issues[0]?.message).not.toBe("");
        return;
      }
      expect(typeof mentions(text, mention)).toBe("boolean");
      // A name is text, not a pattern.
      expect(mentions(`${text} @${mention.replace(/^@/, "")} `, mention)).toBe(true);
      expect(mentions("nothing of the kind", mention)).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test("no text of 1 MiB takes the processor for long", async () => {
  const idle = await idleStall();
  for (const piece of ["@a", "@aa@", "@", "İ", "@a\u0301 "]) {
    const text = repeat(piece, mebibyte);
    const stall = await repeatedStallOf(async () => mentions(text, "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
    expect(stall, piece).toBeLessThan(maxStallMs + idle);
  }
});
