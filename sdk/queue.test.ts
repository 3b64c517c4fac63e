import { expect, test } from "vitest";
import type { ForwardingQueue, Queue } from "./queue.ts";

// The type checker finds what breaks this: TypeScript 5 infers `Promise<void>` for an async function without a return.
test("a queue whose publish returns nothing is a queue, whatever the version of TypeScript", async () => {
  const nothing: ForwardingQueue["publish"] = async (): Promise<void> => {};
  const none: Queue["publish"] = async (): Promise<undefined> => undefined;
  const some: ForwardingQueue["publish"] = async (messages) => messages.map(({ id }) => ({ id, reason: "no" }));
  expect(await Promise.all([nothing([]), none([]), some([])])).toEqual([undefined, undefined, []]);
});
