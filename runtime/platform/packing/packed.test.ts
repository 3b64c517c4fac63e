import { createHash } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { kinds, pack, unpack } from "./packed.ts";
import { payloads1 } from "./payloads-1.ts";
import { prompts1 } from "./prompts-1.ts";

const bytes = (text: string) => Buffer.from(text);

test("a JSON text is read as it was written, packed or not", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4, stringUnit: "grapheme" }), fc.constantFrom("payload", "prompt"), (text, kind) => {
      const packed = pack(kind as keyof typeof kinds, bytes(text));
      expect(Buffer.from(unpack(packed ?? bytes(text))).toString()).toBe(text);
      if (packed) expect(packed.length).toBeLessThan(bytes(text).length);
    }),
  );
});

test("what is not packed, and prompts compressed with zstd as before, are read, too", () => {
  for (const text of ["", "{}", JSON.stringify("x".repeat(197)), JSON.stringify("x".repeat(200_000))]) {
    expect(pack("payload", bytes(text))).toBeUndefined();
    expect(Buffer.from(unpack(bytes(text))).toString()).toBe(text);
  }
  const prompt = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] });
  expect(Buffer.from(unpack(zstdCompressSync(bytes(prompt)))).toString()).toBe(prompt);
});

// A changed dictionary would make stored payloads and prompts unreadable. A better one is added with a new number.
test("dictionaries never change", () => {
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  expect([digest(payloads1), digest(prompts1), kinds]).toEqual([
    "6e6a53d20c5c1c2ea7e3b86ab88820129b3cf08cf4a64ca7ed01c7dfabada9ce",
    "1cc21b0df0296011ab151d8582c530c9967708d05b5380cad3dc26de5b264719",
    { payload: 1, prompt: 2 },
  ]);
});
