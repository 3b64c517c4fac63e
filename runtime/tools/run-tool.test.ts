import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RegisteredTool } from "./registered-tool.ts";
import { runTool } from "./run-tool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const timedOut = () =>
  Promise.reject(Object.assign(new Error("Alpha did not answer within 3 s."), { code: "timeout", retryable: true }));

test.each([
  ["the first try may have arrived, and looking for its result hangs", true, 0],
  ["the write hangs, then looking for its result", false, 1],
])("the error of a tool counts all tries: %s", async (_, again, runs) => {
  const run = vi.fn(timedOut);
  const tool: Partial<RegisteredTool> = { effect: "write", idempotent: false, run, find: timedOut };
  const use = { connection: {}, key: "key", signal: new AbortController().signal };
  const failed = expect(runTool(tool as RegisteredTool, {}, use, again)).rejects.toThrow(
    "Alpha did not answer within 3 s (3 tries).",
  );
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
  expect(run).toHaveBeenCalledTimes(runs);
});
