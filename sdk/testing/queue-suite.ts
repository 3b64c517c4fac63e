import assert from "node:assert/strict";
import type { Capabilities } from "../contract.ts";
import type { Plugin } from "../plugin.ts";
import type { CloudEvent, ForwardingQueue, IncomingOutcome, IncomingWebhook, Queue } from "../queue.ts";
import type { MaybePromise } from "../source-event.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import type { TestCase } from "./fixtures.ts";
import { queueCases } from "./queue-cases.ts";

/** Input of `testQueues`. */
export interface QueueFixtures {
  /** Name of the queue. Default: the id of the plugin. */
  readonly queue?: string;
  readonly config?: Record<string, unknown>;
  /**
   * Provides an empty queue: the capabilities and the configuration for it. Called once for each case, followed by `close`.
   */
  readonly start?: () => Promise<QueueEnvironment>;
  /**
   * For a `ForwardingQueue`: what the destination received, in order, for example the texts in a chat. `messages`: sample messages;
   * default: three received events.
   */
  readonly forwarded?: {
    readonly messages?: readonly CloudEvent[];
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

const receivedEvents: readonly CloudEvent[] = ["e1", "e2", "e3"].map((id) => ({
  specversion: "1.0",
  id,
  source: "/webhook/alpha",
  type: "dev.signalbox.event.received",
  time: new Date().toISOString(),
  datacontenttype: "application/json",
  data: { text: 'Größe 🦉 "\\ \n' },
}));

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
  return queueCases.map(([what, run, slow = false]) => ({
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
  const { messages = receivedEvents, read = () => [] } = forwarded ?? {};
  const on = (
    what: string,
    run: (
      queues: readonly ForwardingQueue[],
      forwarded: () => MaybePromise<readonly string[]>,
      environment: QueueEnvironment,
    ) => Promise<void>,
  ): TestCase => ({
    name: `queue ${name}: ${what}`,
    run: async () => {
      const environment = (await start?.()) ?? { close: async () => {} };
      const disposals: (() => MaybePromise<void>)[] = [];
      const open = async () => {
        const options = {
          config: { ...config, ...environment.config },
          capabilities: fakeCapabilities(environment.capabilities),
        };
        const contributions = await setUpPlugin(plugin, options);
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
    on("has a description, and forwards nothing before publish is called", async ([queue], forwarded) => {
      assert.ok(queue?.about.trim(), "about must be a sentence");
      await queue?.publish([]);
      assert.deepEqual(await forwarded(), [], "nothing was published");
    }),
    on("forwards each message once, whoever publishes it", async (queues, forwarded) => {
      for (const queue of [...queues, ...queues]) await queue.publish(messages);
      const once = await forwarded();
      assert.ok(once.length > 0, "forwarded.messages must be forwarded");
      for (const queue of queues) await queue.publish(messages);
      assert.deepEqual(await forwarded(), once, "a message whose id is known must be skipped");
      assert.equal(new Set(once).size, once.length, "each message must be there once");
    }),
    ...(incoming ? feedCases(on, incoming) : []),
  ];
}

/** Waits for as many webhooks as a case has sent. */
async function receiveAll({ receive }: ForwardingQueue, count: number): Promise<IncomingWebhook[]> {
  const all: IncomingWebhook[] = [];
  for (let tries = 0; all.length < count && tries < 20; tries++) {
    all.push(...((await receive?.({ limit: count - all.length, wait_seconds: 1 })) ?? []));
  }
  return all;
}

function feedCases(
  on: (
    what: string,
    run: (queues: readonly ForwardingQueue[], forwarded: () => unknown, environment: QueueEnvironment) => Promise<void>,
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
      const sentWebhooks = [webhook("first"), webhook("second")];
      await incoming(environment, sentWebhooks);
      const receivedWebhooks = await receiveAll(queue, sentWebhooks.length);
      const content = receivedWebhooks
        .map(({ receipt: _, ...rest }) => rest)
        .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
      assert.deepEqual(content, sentWebhooks, "each webhook must arrive as it was sent, with no other header");
      await answer(queue, receivedWebhooks, "stored");
      assert.deepEqual(await queue.receive({ limit: 10, wait_seconds: 2 }), [], "what was stored must not come again");
    }),
    on("delivers a webhook again if it failed, but not if it was refused", async ([queue], _, environment) => {
      assert.ok(queue);
      await incoming(environment, [webhook("failing"), webhook("refused")]);
      const receivedWebhooks = await receiveAll(queue, 2);
      await answer(
        queue,
        receivedWebhooks.filter(({ id }) => id === "failing"),
        "failed",
      );
      await answer(
        queue,
        receivedWebhooks.filter(({ id }) => id === "refused"),
        "refused",
      );
      const again = await receiveAll(queue, 1);
      assert.deepEqual(
        again.map(({ id }) => id),
        ["failing"],
        "a webhook that failed must come again, with the same id",
      );
      await answer(queue, again, "stored");
    }),
  ];
}
