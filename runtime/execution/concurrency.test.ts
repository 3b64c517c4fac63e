import { expect, test } from "vitest";
import { concurrentRuns } from "./concurrency.ts";

const mb = 1_048_576;

test("hundreds of runs by default, fewer with little memory, or the configured number", () => {
  expect(concurrentRuns(0, false, 2_048 * mb)).toBe(512);
  expect(concurrentRuns(0, false, 256 * mb)).toBe(64);
  expect(concurrentRuns(0, false, 32 * mb)).toBe(16);
  expect(concurrentRuns(0, true, 2_048 * mb)).toBe(64);
  expect(concurrentRuns(3, false, 2_048 * mb)).toBe(3);
  expect(concurrentRuns(2_000, true, 32 * mb)).toBe(2_000);
  expect(concurrentRuns(0, false)).toBeGreaterThanOrEqual(16);
});
