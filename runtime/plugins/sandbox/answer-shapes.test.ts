import { describe, expect, test } from "vitest";
import { idleStall, maxStallMs, repeatedStallOf } from "../../platform/test-stall.ts";
import { memoryAnswers, pageList, pollResult, queueAnswers } from "./answer-shapes.ts";
import { callAndCheck } from "./caller.ts";

describe("an answer of 10,000 items that are not valid names the first, and does not hold the event loop", () => {
  const items = [...Array(10_000)].map(() => ({}));
  test.each([
    ["memories", "0.id", memoryAnswers.nearest, items],
    ["a page of memories", "items.0.id", memoryAnswers.list, { items, total: 1 }],
    ["events of a queue", "0.specversion", queueAnswers.take, items],
    ["documents", "pages.0.id", pageList, { pages: items, cursor: null }],
  ])("%s", async (_, path, shape, value) => {
    const answer = () => callAndCheck(async () => value, { kind: "tools", name: "a", method: "run" }, shape, []);
    const limit = maxStallMs + (await idleStall());
    const stall = await repeatedStallOf(() =>
      expect(answer()).rejects.toThrow(`The answer of tools.a.run is not valid: ${path}: `),
    );
    expect(stall).toBeLessThan(limit);
  });
});

test("a poll of 10,000 events that are not valid names each, and does not hold the event loop", async () => {
  const value = { events: [...Array(10_000)].map(() => ({})), cursor: "", unreadable: [...Array(10_000)].map(() => ({})) };
  const target = { kind: "sources", name: "a", method: "poll" } as const;
  const limit = maxStallMs + (await idleStall());
  const stall = await repeatedStallOf(async () => {
    const { events, unreadable } = await callAndCheck(async () => value, target, pollResult, []);
    expect([events.length, unreadable.length]).toEqual([0, 20_000]);
  });
  expect(stall).toBeLessThan(limit);
});
