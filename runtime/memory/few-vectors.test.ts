import { expect, test } from "vitest";
import { openMemoryDoor } from "./testing/memory-door.ts";

/** A direction for each word: texts that share no word have nothing in common. */
const words: string[] = [];
const apart = async (texts: readonly string[]) =>
  texts.map((text) => {
    const vector = Array<number>(256).fill(0);
    for (const word of text.split(" ")) vector[(words.includes(word) ? words.indexOf(word) : words.push(word) - 1) % 256] = 1;
    return vector;
  });

test("among few memories each is found, however little it has in common with the others", { timeout: 60_000 }, async () => {
  const { door, close } = await openMemoryDoor({ embed: apart });
  try {
    const alike = Array.from({ length: 50 }, (_, i) => `a note about topic${i}`);
    const alone = Array.from({ length: 20 }, (_, i) => `word${i}`);
    for (const content of [...alike, ...alone])
      expect((await door.post("/api/memory", { key: content, content, scope: "organizational" })).status).toBe(201);
    const missed: string[] = [];
    for (const query of alone) {
      const { body } = await door.post("/api/memory/search", { query, limit: 1 });
      if (body[0]?.key !== query) missed.push(query);
    }
    expect(missed).toEqual([]);
  } finally {
    await close();
  }
});
