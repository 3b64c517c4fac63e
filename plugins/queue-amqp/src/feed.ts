import type { AMQPChannel } from "@cloudamqp/amqp-client/amqp-channel";
import type { AMQPMessage } from "@cloudamqp/amqp-client/amqp-message";
import {
  type Capabilities,
  IncomingBacklog,
  type IncomingWebhook,
  maxIncomingBytes,
  PluginError,
  type WebhookFeed,
} from "@signalbox/sdk";
import { cacheOn } from "./cache.ts";
import type { Connect, HostClient } from "./client.ts";
import type { Config } from "./config.ts";

/** Messages that the broker sends ahead. */
const prefetch = 200;
/** Before a message that failed comes again, milliseconds. */
const retryMs = 1_000;

interface Consuming {
  readonly client: HostClient;
  readonly channel: AMQPChannel;
  /** Distinguishes the receipts of this connection from those of earlier ones. */
  readonly number: number;
}

/** Takes webhooks from a queue. It has its own connection, so that it can stop reading while webhooks wait. */
export function openFeed(
  connect: Connect,
  { log }: Pick<Capabilities, "log">,
  config: Config,
): WebhookFeed & { close(): Promise<void> } {
  const { incoming_queue: queue } = config;
  const backlog = new IncomingBacklog();
  let last = 0;
  const consumer = cacheOn(connect, async (client): Promise<Consuming> => {
    last += 1;
    const number = last;
    backlog.clear();
    client.room = () => backlog.room();
    const channel = await client.channel();
    await channel.prefetch(prefetch);
    const take = async (message: AMQPMessage) => {
      if (number !== last || backlog.add(webhookOf(message, number, config))) return;
      log("refused a message that is too long", { queue, longest_bytes: maxIncomingBytes });
      await message.reject(false);
    };
    await channel.basicConsume(queue, { noAck: false }, take).catch((error: Error) => {
      throw missingQueue(queue, error) ?? error;
    });
    return { client, channel, number };
  });

  return {
    receive: async (wanted) => {
      if (queue !== "") await consumer.get();
      return backlog.take(wanted);
    },
    acknowledge: async (outcomes) => {
      const on = await consumer.current();
      for (const { receipt, outcome } of outcomes) {
        const [number, tag] = receipt.split(".").map(Number);
        if (!on || number !== on.number || tag === undefined) continue;
        const { channel } = on;
        const answers = { stored: () => channel.basicAck(tag), refused: () => channel.basicReject(tag, false) };
        if (outcome !== "failed") await answers[outcome]().catch(() => {});
        else setTimeout(() => channel.basicNack(tag, true).catch(() => {}), retryMs);
      }
    },
    close: consumer.close,
  };
}

/** The error if the broker does not have the queue; `null` for all other errors, for example while the queue is down. */
function missingQueue(queue: string, error: Error): PluginError | null {
  if (!error.message.includes(`no queue '${queue}'`)) return null;
  const text = `RabbitMQ has no queue "${queue}". Create it, or correct the setting incoming_queue. (${error.message})`;
  return new PluginError("unavailable", text, { cause: error });
}

function webhookOf(message: AMQPMessage, number: number, { incoming_webhook }: Config): IncomingWebhook {
  const { headers = {}, messageId = null, contentType } = message.properties;
  const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return {
    receipt: `${number}.${message.deliveryTag}`,
    id: messageId,
    body: message.bodyString() ?? "",
    webhook: incoming_webhook || (message.routingKey.split(".").at(-1) ?? ""),
    headers: {
      ...(contentType && { "content-type": contentType }),
      ...Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), value])),
    },
  };
}
