import { expect, test } from "vitest";
import { type LoopOptions, startLoop } from "./loop.ts";

/** A loop whose runs the test ends. */
function start(options: Partial<LoopOptions> = {}) {
  const runs: PromiseWithResolvers<{ pauseMs: number } | undefined>[] = [];
  const errors: unknown[] = [];
  const loop = startLoop({
    everyMs: 3_600_000,
    firstMs: 0,
    run: () => {
      const run = Promise.withResolvers<{ pauseMs: number } | undefined>();
      runs.push(run);
      return run.promise;
    },
    onError: (error) => void errors.push(error),
    ...options,
  });
  return { loop, runs, errors, begun: (count: number) => expect.poll(() => runs.length).toBe(count) };
}

test("runs never overlap: a wake-up during a run is kept for the end of it", async () => {
  const { loop, runs, begun } = start();
  await begun(1);
  loop.wake();
  loop.wake();
  await new Promise(setImmediate);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(undefined);
  await begun(2);
  runs[1]?.resolve({ pauseMs: 0 });
  await begun(3);
  runs[2]?.resolve(undefined);
  await new Promise(setImmediate);
  expect(runs).toHaveLength(3);
  loop.wake();
  await begun(4);
});

test("a failed run is reported, and the loop goes on; the first run waits if it is asked to", async () => {
  const { loop, runs, errors, begun } = start({ firstMs: 3_600_000 });
  await new Promise(setImmediate);
  expect(runs).toHaveLength(0);
  loop.wake();
  await begun(1);
  runs[0]?.reject("lost");
  await expect.poll(() => errors).toEqual(["lost"]);
  loop.wake();
  await begun(2);
});

test("a stop waits for the run under way, does not report its failure, and nothing runs after it", async () => {
  const { loop, runs, errors, begun } = start();
  await begun(1);
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  runs[0]?.reject("interrupted");
  await stopped;
  loop.wake();
  await new Promise(setImmediate);
  expect([runs.length, errors]).toEqual([1, []]);
});
