import { randomUUID } from "node:crypto";
import type { AMQPChannel } from "@cloudamqp/amqp-client/amqp-channel";
import type { AMQPMessage } from "@cloudamqp/amqp-client/amqp-message";
import { type CloudEvent, type ForwardingQueue, PluginError, type RefusedMessage } from "@signalbox/sdk";
import { cacheOn, unavailableError } from "./cache.ts";
import type { Connect, HostClient } from "./client.ts";
import type { Config } from "./config.ts";

/** How far back the stream is read for ids, milliseconds. */
const knownMs = 3_600_000;
const confirmMs = 15_000;
const mark = "dev.signalbox.publisher.read";

/** A connection that publishes messages, and reads which messages the stream already contains. */
interface Publishing {
  readonly client: HostClient;
  readonly channel: AMQPChannel;
  readonly knownIds: KnownIds;
}

/**
 * Publishes to the exchange. AMQP does not recognise repeated messages. Before each batch, the ids of the last hour are read
 * from the stream, to its end, and messages that it already contains are skipped, whichever replica published them.
 */
export function openPublisher(connect: Connect, config: Config): Pick<ForwardingQueue, "publish"> & { close(): Promise<void> } {
  const publishing = cacheOn(connect, (client) =>
    declareAndRead(client, config).catch((error: Error) => {
      throw streamDown(config.stream, error) ?? error;
    }),
  );
  return {
    publish: async (messages) => {
      const refused: RefusedMessage[] = [];
      for (let left = messages; left.length > 0; ) {
        const error = await publishOn(await publishing.get(), left, config);
        if (error === null) break;
        const isRefused = refusalOf(error);
        const refusedNow = isRefused === null ? [] : left.filter(isRefused);
        if (refusedNow.length === 0) throw unavailableError(error);
        // The broker has closed the channel, also for the others. They follow on the next connection.
        refused.push(...refusedNow.map(({ id }) => ({ id, reason: `RabbitMQ: ${error.message}` })));
        left = left.filter((one) => !refusedNow.includes(one));
      }
      return refused;
    },
    close: publishing.close,
  };
}

/** Returns the error if it fails. The connection is then closed, because what was confirmed is not known: the next one reads it. */
async function publishOn(on: Publishing, messages: readonly CloudEvent[], config: Config): Promise<Error | null> {
  const late = setTimeout(() => on.client.end(new Error(`the broker confirmed no message within ${confirmMs} ms`)), confirmMs);
  try {
    await publishNew(messages, on, config);
    return null;
  } catch (error) {
    on.client.end();
    return error as Error;
  } finally {
    clearTimeout(late);
  }
}

/** Which messages the broker refuses themselves: those of a routing key, or those that are too long. `null` for all other errors. */
function refusalOf({ message }: Error): ((one: CloudEvent) => boolean) | null {
  const topic = /ACCESS_REFUSED.* access to topic '([^']*)'/.exec(message)?.[1];
  if (topic !== undefined) return (one) => routingKeyOf(one) === topic;
  const size = /message size (\d+) is larger than/.exec(message)?.[1];
  return size === undefined ? null : (one) => Buffer.byteLength(JSON.stringify(one)) >= Number(size);
}

/**
 * The error if the broker runs and its stream does not: a declare is refused (404), or only a consume (406, shortly after a
 * start). `null` for all other errors.
 */
function streamDown(stream: string, error: Error): PluginError | null {
  if (!/home node .* is down or inaccessible|does not have a replica on the local node/.test(error.message)) return null;
  const remedy = "if it stays down, restart RabbitMQ, and if that does not help, set another stream";
  return new PluginError("unavailable", `RabbitMQ: the stream ${stream} is down; ${remedy} (${error.message})`, { cause: error });
}

/** Declares what is missing, and begins to read the stream. */
async function declareAndRead(client: HostClient, { exchange, stream }: Config): Promise<Publishing> {
  const channel = await client.channel();
  await channel.exchangeDeclare(exchange, "topic", { durable: true });
  await channel.queueDeclare(stream, { durable: true }, { "x-queue-type": "stream", "x-max-age": "7D" });
  await channel.queueBind(stream, exchange, "#");
  await channel.confirmSelect();
  const reading = await client.channel();
  await reading.prefetch(500);
  const knownIds = new KnownIds();
  const args = { "x-stream-offset": `${knownMs / 60_000}m` };
  await reading.basicConsume(stream, { noAck: false, args }, (message: AMQPMessage) => {
    knownIds.add(message.properties.messageId);
    return message.ack();
  });
  return { client, channel, knownIds };
}

async function publishNew(messages: readonly CloudEvent[], publishing: Publishing, config: Config): Promise<void> {
  const { channel, knownIds } = publishing;
  const { exchange, stream } = config;
  await readToEnd(publishing, stream);
  const fresh = messages.filter(({ id }) => !knownIds.has(id));
  await Promise.all(
    fresh.map((one) => channel.basicPublish(exchange, routingKeyOf(one), JSON.stringify(one), propertiesOf(one))),
  );
  for (const { id } of fresh) knownIds.add(id);
}

/** Writes a mark directly to the end of the stream, without the exchange, and waits until it is read. */
async function readToEnd({ client, channel, knownIds }: Publishing, stream: string): Promise<void> {
  const id = randomUUID();
  const read = knownIds.awaits(id);
  await channel.basicPublish("", stream, "", { messageId: id, type: mark, deliveryMode: 2 });
  await Promise.race([read, client.ended]);
  if (client.closed) throw new Error("the connection was lost");
}

const routingKeyOf = ({ type }: CloudEvent): string => type.replace(/^dev\.signalbox\./, "");

const propertiesOf = ({ id, type, time }: CloudEvent) => ({
  messageId: id,
  type,
  contentType: "application/cloudevents+json",
  deliveryMode: 2,
  timestamp: new Date(time),
});

/** Ids of messages that the stream holds, those of the last hour. */
class KnownIds {
  readonly #ids = new Map<string, number>();
  readonly #awaited = new Map<string, () => void>();

  has = (id: string): boolean => this.#ids.has(id);

  add(id: string | undefined): void {
    if (id === undefined) return;
    const now = Date.now();
    for (const [old, at] of this.#ids) {
      if (now - at < knownMs) break;
      this.#ids.delete(old);
    }
    this.#ids.set(id, now);
    this.#awaited.get(id)?.();
  }

  /** Resolves when the id was added. */
  awaits(id: string): Promise<void> {
    return new Promise((done) => {
      this.#awaited.set(id, () => {
        this.#awaited.delete(id);
        done();
      });
    });
  }
}
