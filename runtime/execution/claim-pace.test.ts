import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ClaimPace } from "./claim-pace.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A claim that took this long, in milliseconds. */
function claimed(ms: number, { isFull = false } = {}): ClaimPace {
  const pace = new ClaimPace(128);
  pace.startClaim();
  vi.advanceTimersByTime(ms);
  pace.recordClaim(isFull);
  return pace;
}

test.each([
  [1, 3],
  [5, 15],
  [7, 20],
  [300, 20],
])("after a claim of %i ms, a busy worker pauses for %i ms", (tookMs, pauseMs) => {
  const pace = claimed(tookMs);
  expect(pace.waitMs(32)).toBe(pauseMs);
  expect(pace.waitMs(31), "a worker that is not busy").toBe(0);
  vi.advanceTimersByTime(2);
  expect(pace.waitMs(32)).toBe(pauseMs - 2);
});

test("while executions wait, a claim of few waits for further slots", () => {
  const full = claimed(0, { isFull: true });
  expect([96, 97, 127, 128].map((running) => full.waitMs(running))).toEqual([0, 5, 5, 0]);
  expect(claimed(0).waitMs(127)).toBe(0);
});
