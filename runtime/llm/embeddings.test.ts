import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createEmbed } from "./embeddings.ts";

const baseUrl = "http://model.test/v1";
/** The proxy's response to every request. */
let answer = "";
const answers = http.post(`${baseUrl}/embeddings`, () =>
  HttpResponse.text(answer, { headers: { "content-type": "application/json" } }),
);
const server = setupServer();
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
beforeEach(() => server.resetHandlers(answers));
afterAll(() => server.close());

const embed = createEmbed({ fetch: (...given) => fetch(...given), baseUrl, apiKey: undefined, model: "m", dimension: 2 });
const ask = () => embed(["a", "b"], AbortSignal.timeout(60_000));

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
])("%s is a temporary failure, and nothing is stored", async (_, vector) => {
  answer = `{"data": [{"index": 0, "embedding": ${vector}}, {"index": 1, "embedding": [0, 1]}]}`;
  await expect(ask()).rejects.toMatchObject({ name: "Failure", retryable: true, message: expect.stringContaining("1 vectors") });
});

test("a vector with the number of no text is a temporary failure, and is not searched for", async () => {
  answer = '{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 4294967294, "embedding": [0, 1]}]}';
  await expect(ask()).rejects.toMatchObject({ name: "Failure", retryable: true });
});

test("texts that are embedded at the same time learn together that vectors must be shortened", async () => {
  const asked: (number | undefined)[] = [];
  // A model whose vectors have 8 numbers, and that shortens them on request.
  server.use(
    http.post<never, { input: string[]; dimensions?: number }>(`${baseUrl}/embeddings`, async ({ request }) => {
      const { input, dimensions } = await request.json();
      asked.push(dimensions);
      return HttpResponse.json({ data: input.map((_, index) => ({ index, embedding: new Array(dimensions ?? 8).fill(1) })) });
    }),
  );
  const shortening = createEmbed({ fetch: (...given) => fetch(...given), baseUrl, apiKey: undefined, model: "m", dimension: 4 });
  const never = new AbortController().signal;
  const all = await Promise.all(["a", "b", "c", "d"].map((text) => shortening([text], never)));
  expect(all.flat().map((vector) => vector.length)).toEqual([4, 4, 4, 4]);
  asked.length = 0;
  await shortening(["e"], never);
  expect(asked).toEqual([4]);
});

test("a proxy that repeats the request in its refusal: the reason contains neither the key nor that of the address", async () => {
  const refusal = ({ request }: { request: Request }) =>
    HttpResponse.text(`no ${request.headers.get("authorization")} for ${request.url}`, { status: 401 });
  server.use(http.post(`${baseUrl}/embeddings`, refusal));
  const endpoint = { baseUrl: `${baseUrl}?api_key=of-the-address-1`, apiKey: "of-the-header-1", model: "m", dimension: 2 };
  const asking = createEmbed({ fetch: (...given) => fetch(...given), ...endpoint })(["a"], AbortSignal.timeout(60_000));
  const message = expect.stringMatching(/no Bearer \*{8} for \S+\?api_key=\[redacted\]/);
  await expect(asking).rejects.toMatchObject({ name: "Failure", message });
});

test("the key of a local server, such as none, is not removed from its errors", async () => {
  const refusal = () => HttpResponse.json({ error: { message: "none of the models fits; take another one" } }, { status: 400 });
  server.use(http.post(`${baseUrl}/embeddings`, refusal));
  for (const apiKey of ["none", "e"]) {
    const endpoint = { baseUrl, apiKey, model: "m", dimension: 2 };
    const asking = createEmbed({ fetch: (...given) => fetch(...given), ...endpoint })(["a"], AbortSignal.timeout(60_000));
    const message = expect.stringContaining("none of the models fits; take another one");
    await expect(asking).rejects.toMatchObject({ name: "Failure", message });
  }
});
