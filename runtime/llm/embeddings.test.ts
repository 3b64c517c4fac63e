import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEmbed, type Embed } from "./embeddings.ts";

/** What the proxy answers, whatever it is asked. */
let answer = "";
const proxy = createServer((_, response) => response.setHeader("content-type", "application/json").end(answer));
let embed: Embed;
beforeAll(async () => {
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`;
  embed = createEmbed({ fetch, baseUrl, apiKey: undefined, model: "m", dimension: 2 });
});
afterAll(() => proxy.close());

const ask = () => embed(["a", "b"], AbortSignal.timeout(5_000));

test("vectors in the order of their texts, with or without their numbers", async () => {
  answer = '{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}';
  const inOrder = await ask();
  expect(inOrder).toEqual([
    [1, 0],
    [0, 1],
  ]);
  answer = '{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}';
  expect(await ask()).toEqual(inOrder);
});

test.each([
  ["a number that no database holds", "[1e39, 0]"],
  ["one that a halfvec does not hold", "[65536, 0]"],
  ["no number", "[null, 0]"],
  ["text", '["1", 0]'],
  ["nothing", "[]"],
])("%s is a failure that may pass, and nothing to store", async (_, vector) => {
  answer = `{"data": [{"index": 0, "embedding": ${vector}}, {"index": 1, "embedding": [0, 1]}]}`;
  await expect(ask()).rejects.toMatchObject({ name: "Failure", retryable: true, message: expect.stringContaining("1 vectors") });
});
