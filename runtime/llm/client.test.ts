import { expect, test } from "vitest";
import { createEmbed } from "./embeddings.ts";

/** A model whose own vectors are of 8 numbers, and that shortens them when it is asked to. */
const model: typeof fetch = async (_, init) => {
  const { input, dimensions = 8 } = JSON.parse(String(init?.body)) as { input: string[]; dimensions?: number };
  const data = input.map((_, index) => ({ index, embedding: new Array(dimensions).fill(1) }));
  return Response.json({ data });
};
const never = new AbortController().signal;

test("the first texts, embedded at the same time, find out together that vectors must be shortened", async () => {
  const asked: (number | undefined)[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    asked.push(JSON.parse(String(init?.body)).dimensions);
    return model(url, init);
  };
  const embed = createEmbed({ baseUrl: "http://model.test/v1", apiKey: undefined, fetch, model: "m", dimension: 4 });
  const all = await Promise.all(["a", "b", "c", "d"].map((text) => embed([text], never)));
  expect(all.flat().map((vector) => vector.length)).toEqual([4, 4, 4, 4]);
  asked.length = 0;
  await embed(["e"], never);
  expect(asked).toEqual([4]);
});
