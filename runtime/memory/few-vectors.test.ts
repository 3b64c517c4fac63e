import { expect, test } from "vitest";
import { openMemoryDoor } from "./testing/memory-door.ts";

const count = 200;

/** Every text has a direction of its own: an index that goes from neighbour to neighbour has no way to follow. */
const apart = async (texts: readonly string[]) =>
  texts.map((text) => Array.from({ length: 256 }, (_, i) => Number(i === Number(text))));

test("among few memories each is found, however little their vectors have in common", { timeout: 60_000 }, async () => {
  const { door, close } = await openMemoryDoor({ embed: apart });
  try {
    const numbers = Array.from({ length: count }, (_, i) => String(i));
    for (const content of numbers)
      expect((await door.post("/api/memory", { key: `k${content}`, content, scope: "organizational" })).status).toBe(201);
    const missed: string[] = [];
    for (const query of numbers) {
      const { body } = await door.post("/api/memory/search", { query, limit: 1 });
      if (body[0]?.key !== `k${query}`) missed.push(query);
    }
    expect(missed).toEqual([]);
  } finally {
    await close();
  }
});
