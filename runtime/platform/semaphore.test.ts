import fc from "fast-check";
import { expect, test } from "vitest";
import { Semaphore } from "./semaphore.ts";

const microtasks = async (count: number) => {
  for (let n = 0; n < count; n++) await null;
};

test("never admits more than the limit and forgets no caller, however they arrive, fail or abort", async () => {
  const caller = fc.record({
    fails: fc.boolean(),
    name: fc.constantFrom("a", "b", "c"),
    /** Ticks of the event loop until it is aborted. */
    timeout: fc.option(fc.nat(8)),
    /** Ticks of the event loop from the end of its work until the next one arrives. */
    newcomers: fc.array(fc.nat(8), { maxLength: 2 }),
  });
  type Caller = { fails: boolean; name: string; timeout: number | null; newcomers: readonly number[] };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(caller, { maxLength: 10 }), async (most, callers) => {
      const semaphore = new Semaphore(most);
      let running = 0;
      let highest = 0;
      const later: Promise<void>[] = [];
      const come = async ({ fails, name, timeout, newcomers }: Caller): Promise<void> => {
        const controller = new AbortController();
        if (timeout !== null) void microtasks(timeout).then(() => controller.abort(new Error("aborted")));
        const work = async () => {
          running += 1;
          highest = Math.max(highest, running);
          await microtasks(3);
          running -= 1;
          for (const wait of newcomers)
            later.push(microtasks(wait).then(() => come({ fails: false, name, timeout: null, newcomers: [] })));
          if (fails) throw new Error("failed");
        };
        await semaphore.run(work, { signal: controller.signal, name }).catch(() => {});
      };
      await Promise.all(callers.map(come));
      await Promise.all(later);
      expect(highest).toBeLessThanOrEqual(most);
      expect(running).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test("the names take turns", async () => {
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const work = (name: string) => semaphore.run(async () => void order.push(name), { name });
  await Promise.all(["a", "a", "a", "b", "a", "b"].map(work));
  expect(order).toEqual(["a", "a", "b", "a", "b", "a"]);
});
