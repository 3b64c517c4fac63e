import { expect, test } from "vitest";
import { z } from "zod";
import { definePlugin } from "../plugin.ts";
import type { CloudEvent, Queue } from "../queue.ts";
import { testQueues } from "./queue-suite.ts";

/** In memory; all queues of one map share it, as replicas share a server. */
function memoryQueue(stored: Map<string, { message: CloudEvent; until: number; taken: boolean; done: boolean }>): Queue {
  const due = () =>
    [...stored.values()]
      .filter(({ done, until }) => !done && until <= Date.now())
      .sort((a, b) => (a.message.time < b.message.time ? -1 : 1));
  return {
    about: "Messages in memory.",
    publish: async (messages) => {
      for (const message of messages)
        if (!stored.has(message.id)) stored.set(message.id, { message, until: 0, taken: false, done: false });
    },
    pending: async ({ limit, offset }) => ({
      items: due()
        .slice(offset, offset + limit)
        .map(({ message }) => message),
      total: due().length,
    }),
    take: async ({ limit, lease_seconds }) =>
      due()
        .slice(0, limit)
        .map((one) => {
          Object.assign(one, { until: Date.now() + lease_seconds * 1000, taken: true });
          return one.message;
        }),
    ack: async (id) => {
      const one = stored.get(id);
      if (one?.taken) one.done = true;
      return one?.taken === true;
    },
    expire: async (before) => {
      for (const [id, { message }] of stored) if (message.time < before) stored.delete(id);
    },
  };
}

type Change = (queue: Queue) => Partial<Queue>;
function casesOf(change: Change) {
  let messages = new Map();
  const plugin = definePlugin({
    id: "sample",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: [],
    setup: () => {
      const queue = memoryQueue(messages);
      return { queues: { sample: { ...queue, ...change(queue) } } };
    },
  });
  const start = async () => {
    messages = new Map();
    return { close: async () => {} };
  };
  return testQueues(plugin, { start });
}

test("a correct queue passes every case", async () => {
  for (const { run } of casesOf(() => ({}))) await run();
});

const wrong: [string, Change, string][] = [
  [
    "hands out the youngest first",
    (q) => ({ take: async (w) => (await q.take({ ...w, limit: 1_000 })).reverse().slice(0, w.limit) }),
    "takes many",
  ],
  [
    "lists in any order",
    (q) => ({ pending: async (p) => ({ ...(await q.pending(p)), items: (await q.pending(p)).items.reverse() }) }),
    "oldest first, in pages",
  ],
  [
    "counts the page alone",
    (q) => ({ pending: async (p) => ({ ...(await q.pending(p)), total: (await q.pending(p)).items.length }) }),
    "in pages",
  ],
  ["loses members", (q) => ({ take: async (w) => (await q.take(w)).map((one) => ({ ...one, data: {} })) }), "messages unchanged"],
  ["forgets what it acknowledged", (q) => ({ ack: (id) => q.ack(id).finally(() => q.expire("9999")) }), "skips known messages"],
  ["hands out without a lease", (q) => ({ take: (w) => q.take({ ...w, lease_seconds: 0 }) }), "one consumer"],
  ["never gives back", (q) => ({ take: (w) => q.take({ ...w, lease_seconds: 600 }) }), "when their lease ends"],
  ["acknowledges everything", () => ({ ack: async () => true }), "acknowledges only messages"],
  ["keeps everything", () => ({ expire: async () => {} }), "expires only older messages"],
];
test.for(wrong)("a queue that %s fails", async ([, change, at]) => {
  const [one, ...more] = casesOf(change).filter(({ name }) => name.includes(at));
  expect(more).toEqual([]);
  await expect(one?.run()).rejects.toThrow();
});
