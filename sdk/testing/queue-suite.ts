import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Capabilities } from "../contract.ts";
import type { Plugin } from "../plugin.ts";
import type { CloudEvent, ForwardingQueue, IncomingOutcome, IncomingWebhook, Queue } from "../queue.ts";
import type { MaybePromise } from "../source-event.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import type { TestCase } from "./fixtures.ts";

/** Input of `testQueues`. */
export interface QueueFixtures {
  /** Name of the queue. Default: the id of the plugin. */
  readonly queue?: string;
  readonly config?: Record<string, unknown>;
  /**
   * Provides an empty queue: the capabilities and the configuration for it. Called once for each case, followed by `close`.
   */
  readonly start?: () => Promise<QueueEnvironment>;
  /** For a `ForwardingQueue`: what the destination received, in order, for example the texts in a chat. `messages`: sample messages. */
  readonly forwarded?: {
    readonly messages: readonly CloudEvent[];
    readonly read: (environment: QueueEnvironment) => MaybePromise<readonly string[]>;
  };
  /** For a `WebhookFeed`: puts webhooks where the queue receives them; resolves once the bus has them. */
  readonly incoming?: (environment: QueueEnvironment, webhooks: readonly Omit<IncomingWebhook, "receipt">[]) => Promise<void>;
}
/** An empty queue for one case. */
export interface QueueEnvironment {
  readonly config?: Record<string, unknown>;
  readonly capabilities?: Partial<Capabilities>;
  close(): Promise<void>;
}

/** The conformance suite for queues. `for (const c of testQueues(plugin, fixtures)) test(c.name, c.run);` */
export function testQueues(plugin: Plugin, fixtures: QueueFixtures = {}): TestCase[] {
  const name = fixtures.queue ?? plugin.id;
  const open = async (environment: QueueEnvironment | undefined): Promise<Queue> => {
    const config = { ...fixtures.config, ...environment?.config };
    const queue = (await setUpPlugin(plugin, { config, capabilities: fakeCapabilities(environment?.capabilities) })).queues?.[
      name
    ];
    assert.ok(queue, `setup must contribute queues.${name}`);
    assert.ok("take" in queue, `queues.${name} has no take: forwarded must say what a message becomes`);
    return queue;
  };
  if (fixtures.forwarded) return forwardingCases(plugin, name, fixtures);
  return cases.map(([what, run, slow = false]) => ({
    name: `queue ${name}: ${what}`,
    slow,
    run: async () => {
      const environment = await fixtures.start?.();
      try {
        // Two, as two replicas of the service would have.
        await run(await open(environment), await open(environment));
      } finally {
        await environment?.close();
      }
    },
  }));
}

/** Cases for a queue without consumers: the destination gets each message once, whichever replica publishes it and however often. */
function forwardingCases(plugin: Plugin, name: string, { config, start, forwarded, incoming }: QueueFixtures): TestCase[] {
  const { messages = [], read = () => [] } = forwarded ?? {};
  const on = (
    what: string,
    run: (
      queues: readonly ForwardingQueue[],
      seen: () => MaybePromise<readonly string[]>,
      environment: QueueEnvironment,
    ) => Promise<void>,
  ): TestCase => ({
    name: `queue ${name}: ${what}`,
    run: async () => {
      const environment = (await start?.()) ?? { close: async () => {} };
      const disposals: (() => MaybePromise<void>)[] = [];
      const open = async () => {
        const given = { config: { ...config, ...environment.config }, capabilities: fakeCapabilities(environment.capabilities) };
        const contributions = await setUpPlugin(plugin, given);
        const queue = contributions.queues?.[name];
        if (contributions.dispose) disposals.push(() => contributions.dispose?.());
        assert.ok(queue, `setup must contribute queues.${name}`);
        assert.ok(!("take" in queue), "a queue that forwards has no consumers");
        return queue;
      };
      try {
        // Two, as two replicas of the service would have.
        await run([await open(), await open()], () => read(environment), environment);
      } finally {
        for (const dispose of disposals) await dispose();
        await environment.close();
      }
    },
  });
  return [
    on("describes itself and forwards nothing by itself", async ([queue], seen) => {
      assert.ok(queue?.about.trim(), "about must be a sentence");
      await queue?.publish([]);
      assert.deepEqual(await seen(), [], "nothing was published");
    }),
    on("forwards each message once, whoever publishes it", async (queues, seen) => {
      for (const queue of [...queues, ...queues]) await queue.publish(messages);
      const once = await seen();
      assert.ok(once.length > 0, "forwarded.messages must be forwarded");
      for (const queue of queues) await queue.publish(messages);
      assert.deepEqual(await seen(), once, "a message whose id is known must be skipped");
      assert.equal(new Set(once).size, once.length, "each message must be there once");
    }),
    ...(incoming ? feedCases(on, incoming) : []),
  ];
}

/** Waits for as many webhooks as a case has sent. */
async function received({ receive }: ForwardingQueue, count: number): Promise<IncomingWebhook[]> {
  const all: IncomingWebhook[] = [];
  for (let tries = 0; all.length < count && tries < 20; tries++) {
    all.push(...((await receive?.({ limit: count - all.length, wait_seconds: 1 })) ?? []));
  }
  return all;
}

function feedCases(
  on: (
    what: string,
    run: (queues: readonly ForwardingQueue[], seen: () => unknown, environment: QueueEnvironment) => Promise<void>,
  ) => TestCase,
  incoming: NonNullable<QueueFixtures["incoming"]>,
): TestCase[] {
  const webhook = (id: string): Omit<IncomingWebhook, "receipt"> => ({
    id,
    webhook: "alpha",
    headers: { "x-alpha-event": "issues", "x-alpha-signature": "sha256=00" },
    body: JSON.stringify({ id, text: 'Größe 🦉 "\\ \n', nested: [{ a: null }] }),
  });
  const answer = async (
    { acknowledge }: ForwardingQueue,
    webhooks: readonly IncomingWebhook[],
    outcome: IncomingOutcome["outcome"],
  ) => acknowledge?.(webhooks.map(({ receipt }) => ({ receipt, outcome })));
  return [
    on("receives webhooks unchanged: id, path, headers and body", async ([queue], _, environment) => {
      assert.ok(queue?.receive && queue.acknowledge, "a feed has receive and acknowledge");
      const sent = [webhook("first"), webhook("second")];
      await incoming(environment, sent);
      const got = await received(queue, sent.length);
      const content = got.map(({ receipt: _, ...rest }) => rest).sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
      assert.deepEqual(content, sent, "each webhook must arrive as it was sent, with no other header");
      await answer(queue, got, "stored");
      assert.deepEqual(await queue.receive({ limit: 10, wait_seconds: 2 }), [], "what was stored must not come again");
    }),
    on("delivers a webhook that failed again, one that was refused not", async ([queue], _, environment) => {
      assert.ok(queue);
      await incoming(environment, [webhook("failing"), webhook("refused")]);
      const got = await received(queue, 2);
      await answer(
        queue,
        got.filter(({ id }) => id === "failing"),
        "failed",
      );
      await answer(
        queue,
        got.filter(({ id }) => id === "refused"),
        "refused",
      );
      const again = await received(queue, 1);
      assert.deepEqual(
        again.map(({ id }) => id),
        ["failing"],
        "a webhook that failed must come again, with the same id",
      );
      await answer(queue, again, "stored");
    }),
  ];
}

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

const cases: readonly Case[] = [
  [
    "describes itself, and is empty at first",
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
      assert.equal(await queue.ack(one.id), true);
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
      const taken = (await Promise.all(takers)).flatMap(ids);
      assert.deepEqual(taken.sort(), ids(many.slice(3)).sort(), "takers at the same time must share the messages, each once");
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
        "after its lease the message is pending again, the acknowledged not",
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
