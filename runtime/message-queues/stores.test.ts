import { randomBytes } from "node:crypto";
import queueRedis from "@signalbox/plugin-queue-redis";
import type { CloudEvent } from "@signalbox/sdk";
import { type QueueEnvironment, testQueues } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import queueAmqp from "../../plugins/queue-amqp/src/plugin.ts";
import queueNats from "../../plugins/queue-nats/src/plugin.ts";
import type { Broker } from "../../test/harness/brokers/broker.ts";
import { startNats } from "../../test/harness/brokers/nats.ts";
import { startRabbitmq } from "../../test/harness/brokers/rabbitmq.ts";
import type { Log } from "../platform/log.ts";
import { openTcp } from "../platform/network/tcp.ts";
import { openRedis } from "../platform/redis/client.ts";

const event = (number: number): CloudEvent => ({
  specversion: "1.0",
  id: `e${number}`,
  source: "/webhook/alpha",
  type: "dev.signalbox.event.received",
  time: new Date().toISOString(),
  datacontenttype: "application/json",
  data: { text: 'Größe 🦉 "\\ \n' },
});
const buses = [
  { plugin: queueNats, queue: "nats", need: "nats-server", startBroker: startNats },
  { plugin: queueAmqp, queue: "amqp", need: "rabbitmq-server", startBroker: startRabbitmq },
] as const;
interface BusEnvironment extends QueueEnvironment {
  readonly broker: Broker;
}

for (const { plugin, queue, need, startBroker } of buses) {
  describe(queue, { tags: [need] }, () => {
    const start = async (): Promise<BusEnvironment> => {
      const broker = await startBroker();
      const server = new URL(broker.config.servers ?? broker.config.url ?? "").host;
      const tcp = openTcp(plugin.id, () => [server]);
      const close = async () => {
        tcp.closeAll();
        await broker[Symbol.asyncDispose]();
      };
      return { broker, config: broker.config, capabilities: { tcp }, close };
    };
    const brokerOf = (environment: QueueEnvironment) => (environment as BusEnvironment).broker;
    const forwarded = {
      messages: [event(1), event(2), event(3)],
      read: (environment: QueueEnvironment) => brokerOf(environment).published(),
    };
    const incoming: NonNullable<Parameters<typeof testQueues>[1]>["incoming"] = (environment, webhooks) =>
      brokerOf(environment).send(webhooks.map((one) => ({ ...one, id: one.id ?? "" })));
    for (const { name, run } of testQueues(plugin, { queue, start, forwarded, incoming })) test(name, { timeout: 60_000 }, run);
  });
}

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const url = process.env.TEST_REDIS_URL;

describe("redis", { tags: ["redis"] }, () => {
  const start = async () => {
    const prefix = `test-queue-${randomBytes(6).toString("hex")}:`;
    const redis = await openRedis(url, prefix, quiet);
    if (!redis) throw new Error("no redis");
    const close = async () => {
      const keys = (await redis.call("KEYS", `${prefix}*`)) as string[];
      if (keys.length > 0) await redis.call("DEL", ...keys);
      await redis.close();
    };
    return { capabilities: { redis }, close };
  };
  for (const { name, run } of testQueues(queueRedis, { queue: "redis", start })) test(name, { timeout: 30_000 }, run);
});
