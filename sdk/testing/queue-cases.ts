import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { CloudEvent, Queue } from "../queue.ts";

type Case = readonly [what: string, run: (queue: Queue, other: Queue) => Promise<void>, slow?: boolean];

const minute = 60_000;
/** A message that was created this many minutes ago. */
const message = (minutes: number, more: Partial<CloudEvent> = {}): CloudEvent => ({
  specversion: "1.0",
  id: randomUUID(),
  source: "/webhook/alpha",
  type: "dev.signalbox.event.received",
  subject: "alpha:octo/app#1",
  time: new Date(Date.now() - minutes * minute).toISOString(),
  datacontenttype: "application/json",
  data: { outcome: "dispatched" },
  ...more,
});
const ids = (messages: readonly CloudEvent[]): string[] => messages.map(({ id }) => id);
const page = { limit: 1_000, offset: 0 };
const long = { limit: 1_000, lease_seconds: 600 };
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

async function same(queue: Queue, messages: readonly CloudEvent[], what: string): Promise<void> {
  const { items, total } = await queue.pending(page);
  assert.deepEqual(ids(items), ids(messages), what);
  assert.equal(total, messages.length, "total must count all that are pending");
}

/** The cases for a queue with consumers. Two queues share its messages, as two replicas of the service would. */
export const queueCases: readonly Case[] = [
  [
    "has a description, and is empty at first",
    async (queue) => {
      assert.ok(typeof queue.about === "string" && queue.about.trim() !== "", "about must be a sentence");
      await queue.publish([]);
      await same(queue, [], "the queue of a case must be empty");
      assert.deepEqual(await queue.take(long), [], "an empty queue hands out nothing");
    },
  ],
  [
    "lists what was published, oldest first, in pages",
    async (queue, other) => {
      const [old, middle, young] = [message(30), message(20), message(10)] as const;
      await queue.publish([young, old]);
      await other.publish([middle]);
      await same(queue, [old, middle, young], "pending must be oldest first, whoever published it");
      const second = await queue.pending({ limit: 1, offset: 1 });
      assert.deepEqual([ids(second.items), second.total], [[middle.id], 3], "a page is a part; total counts all");
      assert.deepEqual(await queue.pending({ limit: 10, offset: 3 }), { items: [], total: 3 }, "behind the end there is nothing");
    },
  ],
  [
    "returns messages unchanged",
    async (queue) => {
      const { subject: _, ...bare } = message(2);
      const data = { text: 'Größe 🦉 "\\ \n', nested: [{ a: null }, [], 1.5, true, "'; drop"], empty: {} };
      const rich = message(3, { data });
      await queue.publish([rich, bare]);
      assert.deepEqual((await queue.pending(page)).items, [rich, bare], "pending must show the messages unchanged");
      assert.deepEqual(await queue.take(long), [rich, bare], "take must hand out the messages unchanged");
    },
  ],
  [
    "takes many in one call",
    async (queue) => {
      const many = Array.from({ length: 250 }, (_, i) => message(500 - i));
      await queue.publish(many);
      assert.deepEqual(ids(await queue.take(long)), ids(many), "all of them, oldest first");
    },
  ],
  [
    "skips known messages: pending, taken or acknowledged",
    async (queue, other) => {
      const one = message(5);
      await queue.publish([one, one]);
      await other.publish([one]);
      await same(queue, [one], "a message whose id is known must not be there twice");
      await queue.take(long);
      await other.publish([one]);
      await same(queue, [], "one that was taken must not become pending by being published again");
      assert.equal(await queue.ack(one.id), true, "ack of a message that was taken must return true");
      await other.publish([one]);
      await same(queue, [], "one that was acknowledged must not come again");
    },
  ],
  [
    "delivers each message to one consumer",
    async (queue, other) => {
      const many = Array.from({ length: 40 }, (_, i) => message(100 - i));
      await queue.publish(many);
      assert.deepEqual(ids(await queue.take({ limit: 3, lease_seconds: 600 })), ids(many.slice(0, 3)), "the oldest first");
      await same(other, many.slice(3), "what was taken is not pending, for no replica");
      const takers = Array.from({ length: 10 }, (_, i) => (i % 2 ? queue : other).take({ limit: 10, lease_seconds: 600 }));
      const takenIds = (await Promise.all(takers)).flatMap(ids);
      assert.deepEqual(takenIds.sort(), ids(many.slice(3)).sort(), "takers at the same time must share the messages, each once");
    },
  ],
  [
    "returns unacknowledged messages when their lease ends",
    async (queue, other) => {
      const [lost, done] = [message(9), message(8)] as const;
      await queue.publish([lost, done]);
      await queue.take({ limit: 2, lease_seconds: 1 });
      assert.equal(await queue.ack(done.id), true, "ack of a message that was taken must answer true");
      await pause(1_300);
      assert.deepEqual(
        ids(await other.take(long)),
        [lost.id],
        "after its lease, an unacknowledged message must be pending again, and an acknowledged one must not",
      );
      assert.equal(await queue.ack(lost.id), true, "a late ack of a taken message must return true");
      await same(queue, [], "nothing is left");
    },
    true,
  ],
  [
    "acknowledges only messages that were taken",
    async (queue, other) => {
      const one = message(5);
      await queue.publish([one]);
      assert.equal(await queue.ack(one.id), false, "a message that was not taken cannot be acknowledged");
      assert.equal(await queue.ack(randomUUID()), false, "an unknown id is not there");
      await same(queue, [one], "a refused ack must change nothing");
      await queue.take(long);
      assert.equal(await other.ack(one.id), true, "any replica may acknowledge");
      assert.equal(await queue.ack(one.id), true, "again it is answered the same: the first answer may have been lost");
    },
  ],
  [
    "expires only older messages, acknowledged or not",
    async (queue) => {
      const [taken, old, edge, young] = [message(40), message(30), message(20), message(10)] as const;
      await queue.publish([taken, old, edge, young]);
      await queue.take({ limit: 1, lease_seconds: 600 });
      await queue.ack(taken.id);
      await queue.expire(edge.time);
      await same(queue, [edge, young], "messages from before the time go; those of that time and later stay");
      assert.equal(await queue.ack(taken.id), false, "ack of what was forgotten must answer false");
      await queue.publish([taken]);
      await same(queue, [taken, edge, young], "an id that was forgotten may come again");
      await queue.expire(new Date(Date.now() - 600 * minute).toISOString());
      await same(queue, [taken, edge, young], "where nothing is older nothing goes");
    },
  ],
];
