import { afterEach, expect, test, vi } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { createRefusals } from "./refusals.ts";

afterEach(() => vi.useRealTimers());

test("a source that reached its limit at midnight has a new one on the next day", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 23, 59, 59) });
  const writes: PromiseWithResolvers<string[]>[] = [];
  const begin = () => {
    const write = Promise.withResolvers<string[]>();
    writes.push(write);
    return write.promise;
  };
  const refusals = createRefusals({ begin } as unknown as Sql, { warn: () => {} });
  const refuse = async () => {
    refusals.add({ source: "alpha", slug: "alpha", headers: {}, reason: "missing header" });
    await new Promise(setImmediate);
  };
  await refuse();
  vi.setSystemTime(Date.UTC(2026, 0, 2));
  await refuse();
  // The statement of the first day has counted its last refusal.
  writes[0]?.resolve(["alpha"]);
  await new Promise(setImmediate);
  writes[1]?.resolve([]);
  await refuse();
  expect(writes).toHaveLength(3);
});
