import { problem } from "@signalbox/schema/problem";
import * as queues from "@signalbox/schema/queues";
import type { PluginErrorShape } from "@signalbox/sdk";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { OpenQueue, Queues } from "./open.ts";

/** The operations on message queues, by name of a loaded queue. */
export function queueOperations(loaded: Queues): BoundOperation[] {
  const queueNamed = (name: string): OpenQueue => {
    const queue = loaded.get(name);
    if (queue) return queue;
    throw problem("not_found", `There is no queue "${name}"; available: ${loaded.names().join(", ")}.`);
  };
  return [
    handle(queues.pending, ({ queue, ...page }) => answerOf(queue, () => queueNamed(queue).pending(page))),
    handle(queues.take, async ({ queue, ...wanted }) => ({
      events: await answerOf(queue, () => queueNamed(queue).take(wanted)),
    })),
    handle(queues.ack, async ({ queue, id }) => {
      if (await answerOf(queue, () => queueNamed(queue).ack(id))) return {};
      throw problem("not_found", `The queue "${queue}" has not delivered an event "${id}", or its lease has expired.`);
    }),
  ];
}

/** Reports an unavailable queue as 503, not as an internal error. */
async function answerOf<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { code, message } = (error ?? {}) as Partial<PluginErrorShape>;
    if ((code !== "unavailable" && code !== "timeout") || !(error instanceof Error) || error.name !== "PluginError") throw error;
    throw problem("unavailable", `The queue "${name}" is unavailable: ${message}`, { retryAfter: 2, cause: error });
  }
}
