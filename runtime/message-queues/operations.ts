import { problem } from "@signalbox/schema/problem";
import * as queues from "@signalbox/schema/queues";
import type { PluginErrorShape } from "@signalbox/sdk";
import { type Bound, handle } from "../platform/operation.ts";
import type { OpenQueue, Queues } from "./open.ts";

/** The operations on message queues, over the names of those that are loaded. */
export function queueOperations(loaded: Queues): Bound[] {
  const named = (name: string): OpenQueue => {
    const queue = loaded.get(name);
    if (queue) return queue;
    throw problem("not_found", `There is no queue "${name}"; loaded: ${loaded.names().join(", ")}.`);
  };
  return [
    handle(queues.pending, ({ queue, ...page }) => answered(queue, () => named(queue).pending(page))),
    handle(queues.take, async ({ queue, ...wanted }) => ({ events: await answered(queue, () => named(queue).take(wanted)) })),
    handle(queues.ack, async ({ queue, id }) => {
      if (await answered(queue, () => named(queue).ack(id))) return {};
      throw problem("not_found", `The queue "${queue}" has handed out no event "${id}", or has forgotten it since.`);
    }),
  ];
}

/** A queue that is away is no fault of ours. */
async function answered<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { code, message } = (error ?? {}) as Partial<PluginErrorShape>;
    if ((code !== "unavailable" && code !== "timeout") || !(error instanceof Error) || error.name !== "PluginError") throw error;
    throw problem("unavailable", `The queue "${name}" does not answer: ${message}`, { retryAfter: 2, cause: error });
  }
}
