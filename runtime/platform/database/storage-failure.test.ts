import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchFull } from "./storage-failure.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("a failure to store is over once data was stored after it and no other failure followed", () => {
  const { full, lastFull, stored } = watchFull();
  expect(lastFull()).toBeNull();
  // A disk that is nearly full: some data can be stored.
  for (let second = 0; second < 30; second += 2) {
    full(new Error(`full ${second}`));
    stored();
    expect(lastFull()).toMatchObject({ reason: `full ${second}` });
    vi.advanceTimersByTime(2_000);
    expect(lastFull()).toMatchObject({ reason: `full ${second}` });
  }
  vi.advanceTimersByTime(3_000);
  expect(lastFull()).toBeNull();
  full(new Error("full again"));
  vi.advanceTimersByTime(60_000);
  expect(lastFull()).toMatchObject({ reason: "full again" });
  stored();
  expect(lastFull()).toBeNull();
});
