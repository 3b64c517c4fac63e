import { describe, expect, test } from "vitest";
import { idleStall, maxStallMs, repeatedStallOf } from "../../platform/test-stall.ts";
import { limits } from "./limits.ts";
import { readLongMessage, readMessage } from "./read-message.ts";

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const objectOf = (prefix: string, keys: number) =>
  `{${range(keys)
    .map((i) => `"${prefix}${i}":0`)
    .join()}}`;

test("an answer that is nested too deep fails its call; a request is dropped", () => {
  expect(readMessage(`{"id":3,"result":${nested(limits.depth - 1)}}`).message).toHaveProperty("result");
  expect(readMessage(`{"id":3,"result":${nested(limits.depth + 1)}}`).message).toEqual({
    id: 3,
    error: { message: "its answer is nested deeper than 200 levels" },
  });
  expect(readMessage(`{"id":3,"method":"fetch","params":${nested(limits.depth + 1)}}`).message).toBeNull();
});

test("garbage is no message", async () => {
  for (const garbage of ["", "42", "null", "[]", "{", '"x"']) {
    expect(readMessage(garbage)).toMatchObject({ message: null, values: 1 });
    expect(await readLongMessage(garbage)).toMatchObject({ message: null, values: 1 });
  }
});

test("a member named __proto__ is removed, at every depth", async () => {
  const line = '{"id":1,"result":{"__proto__":{"a":1},"b":[{"__proto__":2}]}}';
  for (const { message } of [readMessage(line), await readLongMessage(line)])
    expect(JSON.stringify(message)).toBe('{"id":1,"result":{"b":[{}]}}');
});

describe("a long message is measured in another thread", () => {
  const answer = (result: string) => `{"id":1,"result":${result}}`;
  const costly: Record<string, string> = {
    "an object of 100,000 keys": answer(objectOf("k", 100_000)),
    "an object of 100,000 numbers as keys": answer(objectOf("", 100_000)),
    "10,000 objects with keys of their own": answer(
      `[${range(10_000)
        .map((i) => objectOf(`k${i}_`, 10))
        .join()}]`,
    ),
    "10,000 orders of the same keys": answer(
      `[${range(10_000)
        .map(
          (i) =>
            `{${range(8)
              .map((j) => `"k${(j * (1 + 2 * (i % 997)) + i) % 4_099}":0`)
              .join()}}`,
        )
        .join()}]`,
    ),
    "80,000 objects with one of 4,000 keys": answer(
      `[${range(80_000)
        .map((i) => `{"k${i % 4_000}":1}`)
        .join()}]`,
    ),
    "240,000 different short texts": answer(
      `[${range(240_000)
        .map((i) => `"${i.toString(36)}"`)
        .join()}]`,
    ),
    "more values than allowed": answer(`[${"[],".repeat(limits.values)}[]]`),
  };
  test.each(Object.entries(costly))("%s is refused, and the main thread stays responsive", async (_, line) => {
    await readLongMessage(answer("[]"));
    const limit = maxStallMs + (await idleStall());
    const stall = await repeatedStallOf(async () => {
      const read = await readLongMessage(line);
      expect(read.refused).toMatch(/^it sent a message (of|with) (more than|too many)|takes too long/);
    });
    expect(stall).toBeLessThan(limit);
  });

  test.each([
    [
      "many objects of one shape",
      `[${range(10_000)
        .map(() => '{"a":1,"b":"x","c":null}')
        .join()}]`,
    ],
    ["commas and brackets within strings", JSON.stringify(['\\"[{,'.repeat(limits.values)])],
    ["a long text", JSON.stringify(["é\n".repeat(500_000)])],
  ])("%s is read", async (_, result) => {
    const { message, refused } = await readLongMessage(answer(result));
    expect(refused).toBeUndefined();
    expect(message?.result).toEqual(JSON.parse(result));
  });

  test("each is read in another tick of the event loop", async () => {
    await readLongMessage(answer("[]"));
    let tick = 0;
    const timer = setInterval(() => tick++);
    const readIn = async () => {
      await readLongMessage(answer("[1]"));
      const read = tick;
      // The next one is measured meanwhile.
      for (const until = performance.now() + 20; performance.now() < until; );
      return read;
    };
    expect(new Set(await Promise.all([readIn(), readIn(), readIn()])).size).toBe(3);
    clearInterval(timer);
  });
});
