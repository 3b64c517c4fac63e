import { expect, test } from "vitest";
import { isPacked, unpack } from "../platform/packing/packed.ts";
import type { Arrival } from "./arrival.ts";
import { packBodies } from "./event-row.ts";

const textOf = (bytes: number) => JSON.stringify({ title: "word ".repeat(bytes / 5) });
const withBody = (text: string) => ({ event: { id: text.slice(0, 9), body: Buffer.from(text) } }) as unknown as Arrival;
const stored = (texts: readonly string[]) => packBodies(texts.map(withBody)).map(({ event }) => event.body);

test.each([1, 5])("the payloads of %i events are packed, long ones too", (count) => {
  const texts = Array.from({ length: count }, (_, i) => textOf(1_000 + 2_000 * i));
  const bodies = stored(texts);
  expect(bodies.map(isPacked)).toEqual(texts.map(() => true));
  expect(bodies.map((body) => Buffer.from(unpack(body)).toString())).toEqual(texts);
});

test("of many events, only short payloads are packed", () => {
  const texts = [textOf(500), textOf(3_900), textOf(4_100), textOf(20_000), textOf(50_000), "{}", textOf(100_000)];
  const bodies = stored(texts);
  expect(bodies.map(isPacked)).toEqual([true, true, false, false, false, false, false]);
  expect(bodies.map((body) => Buffer.from(unpack(body)).toString())).toEqual(texts);
});
