import { expect, test } from "vitest";
import { isPacked, unpack } from "../platform/packing/packed.ts";
import type { Arrival } from "./arrival.ts";
import { packBodies } from "./event-row.ts";

const textOf = (bytes: number) => JSON.stringify({ title: "word ".repeat(bytes / 5) });
/** Events with these bodies, as they are stored: each starts this many executions. */
const stored = (texts: readonly string[], count = 0, hasLz4 = true) => {
  const executions = Array.from({ length: count }, (_, i) => ({ id: String(i) }));
  const arrivals = texts.map((text) => ({ event: { body: Buffer.from(text) }, executions }) as unknown as Arrival);
  return packBodies(arrivals, hasLz4).map(({ event }) => event.body);
};

test.each([1, 5])("the payloads of %i events are packed, long ones too", (count) => {
  const texts = Array.from({ length: count }, (_, i) => textOf(1_000 + 2_000 * i));
  const bodies = stored(texts);
  expect(bodies.map(isPacked)).toEqual(texts.map(() => true));
  expect(bodies.map((body) => Buffer.from(unpack(body)).toString())).toEqual(texts);
});

const texts = [textOf(500), textOf(3_900), textOf(4_100), textOf(20_000), textOf(50_000), "{}", textOf(90_000)];

test("of many events that start executions, and in a database without lz4, all payloads are packed", () => {
  for (const bodies of [stored(texts, 1), stored(texts, 0, false)])
    expect(bodies.map(isPacked)).toEqual([true, true, true, true, true, false, true]);
});

test("of many events that start nothing, only short payloads are packed", () => {
  const bodies = stored(texts);
  expect(bodies.map(isPacked)).toEqual([true, true, false, false, false, false, false]);
  expect(bodies.map((body) => Buffer.from(unpack(body)).toString())).toEqual(texts);
});
