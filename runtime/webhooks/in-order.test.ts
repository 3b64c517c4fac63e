import { expect, test } from "vitest";
import { runInOrder } from "./in-order.ts";

/** Runs items that end their preparation in the reverse order. Returns the stores in the order of their begin, and the results. */
async function run(prepare: (item: number) => "store" | "skip" | "fail") {
  const begun: number[] = [];
  const prepared = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const runs = runInOrder([0, 1, 2, 3], async (item, inOrder) => {
    await prepared[item]?.promise;
    const end = prepare(item);
    if (end === "fail") throw new Error(`failed ${item}`);
    if (end === "store") await inOrder(async () => void begun.push(item));
    return item;
  });
  const allEnded = Promise.allSettled(runs);
  for (const { resolve } of prepared.toReversed()) {
    resolve();
    await new Promise(setImmediate);
  }
  const results = await allEnded;
  return { begun, results: results.map((one) => (one.status === "fulfilled" ? one.value : one.reason.message)) };
}

test("events are stored in the order of their items, also after one that stores nothing", async () => {
  expect(await run(() => "store")).toEqual({ begun: [0, 1, 2, 3], results: [0, 1, 2, 3] });
  expect(await run((item) => (item === 1 ? "skip" : "store"))).toEqual({ begun: [0, 2, 3], results: [0, 1, 2, 3] });
});

test("events after one that fails are not stored", async () => {
  expect(await run((item) => (item === 1 ? "fail" : "store"))).toEqual({
    begun: [0],
    results: [0, "failed 1", "failed 1", "failed 1"],
  });
});

test("a store does not wait for the end of the one before it", async () => {
  const end = Promise.withResolvers<void>();
  const begun: number[] = [];
  const store = (item: number) => async () => {
    begun.push(item);
    await end.promise;
  };
  const runs = runInOrder([0, 1], (item, inOrder) => inOrder(store(item)));
  await expect.poll(() => begun).toEqual([0, 1]);
  end.resolve();
  await Promise.all(runs);
});
