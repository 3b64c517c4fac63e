import { AckPolicy, JetStreamApiError, type JsMsg, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { errors, headers, type NatsConnection, nanos } from "@nats-io/nats-core/internal";
import {
  type Capabilities,
  type CloudEvent,
  type ForwardingQueue,
  IncomingBacklog,
  type IncomingOutcome,
  type IncomingWebhook,
  maxIncomingBytes,
  PluginError,
  type RefusedMessage,
} from "@signalbox/sdk";
import type { Config } from "./config.ts";
import type { Connection } from "./connection.ts";

const day = 86_400_000;
/** The server skips ids that it has seen for as long. */
const knownMs = 3_600_000;
const publishMs = 10_000;
/** A webhook that is not acknowledged for as long is delivered again. */
const acknowledgeMs = 30_000;
const retryMs = 1_000;

/** JetStream as the end of a queue, and as a feed of webhooks. */
export function natsQueue(connection: Connection, { log }: Pick<Capabilities, "log">, config: Config): ForwardingQueue {
  const { incoming_stream: stream } = config;
  let ready: NatsConnection | null = null;
  const backlog = new IncomingBacklog();
  let consuming: NatsConnection | null = null;
  /** The messages that are not acknowledged, by receipt. */
  const unacknowledged = new Map<string, JsMsg>();

  const publisher = async () => {
    const nats = await connection.get();
    if (ready !== nats) await ensureStream(nats, config);
    ready = nats;
    return jetstream(nats, { timeout: publishMs });
  };

  const consume = async () => {
    const nats = await connection.get();
    if (consuming === nats) return;
    const { messages, created } = await startConsuming(nats, config);
    consuming = nats;
    backlog.clear();
    unacknowledged.clear();
    void (async () => {
      for await (const message of messages) {
        const webhook = webhookOf(message, created, config);
        unacknowledged.set(webhook.receipt, message);
        if (!backlog.add(webhook)) refuseLong(message);
        await backlog.room();
      }
    })()
      .catch((error) => log("stopped receiving webhooks", { error: String(error) }))
      // The next call begins again.
      .finally(() => {
        if (consuming === nats) consuming = null;
      });
  };
  const refuseLong = (message: JsMsg) => {
    log("refused a message that is too long", { stream, seq: message.seq, longest_bytes: maxIncomingBytes });
    message.term();
  };

  return {
    about: "NATS JetStream: events and executions as CloudEvents, and incoming webhooks.",
    publish: (messages) =>
      reachable(async () => {
        const js = await publisher();
        const results = await Promise.allSettled(
          messages.map(async (one) =>
            js.publish(subjectOf(one, config), JSON.stringify(one), { msgID: one.id, headers: structuredHeaders() }),
          ),
        );
        const refused: RefusedMessage[] = [];
        for (const [at, result] of results.entries()) {
          const one = messages[at];
          if (result.status === "fulfilled" || !one) continue;
          const reason = refusalOf(result.reason, subjectOf(one, config));
          if (reason === null) throw result.reason;
          refused.push({ id: one.id, reason });
        }
        // The stream may have been deleted: the next call looks for it.
        if (refused.length > 0) ready = null;
        return refused;
      }),
    receive: (wanted) =>
      reachable(async () => {
        if (stream !== "") await consume();
        return backlog.take(wanted);
      }),
    acknowledge: (outcomes) =>
      reachable(async () => {
        const nats = await connection.get();
        for (const { receipt, outcome } of outcomes) {
          const message = unacknowledged.get(receipt);
          unacknowledged.delete(receipt);
          if (message) answer(message, outcome);
        }
        await nats.flush();
      }),
  };
}

function answer(message: JsMsg, outcome: IncomingOutcome["outcome"]): void {
  if (outcome === "stored") message.ack();
  else if (outcome === "refused") message.term();
  else message.nak(retryMs);
}

/** Why the server refuses a message itself; `null` for all other errors, for example while the server cannot be reached. */
function refusalOf(error: unknown, subject: string): string | null {
  for (const one of [error, (error as Error).cause]) {
    if (one instanceof errors.PermissionViolationError && one.operation === "publish")
      return `NATS does not permit this user to publish to ${subject}`;
    if (one instanceof errors.RequestError && one.isNoResponders()) return `NATS has no stream for the subject ${subject}`;
    // The message is longer than the server accepts.
    if (one instanceof errors.InvalidArgumentError) return `NATS: ${one.message}`;
    if (one instanceof JetStreamApiError && one.status >= 400 && one.status < 500) return `NATS: ${one.message} (${subject})`;
  }
  return null;
}

/** The content mode of CloudEvents in which the message is the whole event. */
const structuredHeaders = () => {
  const all = headers();
  all.set("content-type", "application/cloudevents+json");
  return all;
};

/** `dev.signalbox.execution.failed` → `signalbox.execution.failed`. */
const subjectOf = ({ type }: CloudEvent, { subject }: Config): string => `${subject}.${type.replace(/^dev\.signalbox\./, "")}`;

async function ensureStream(nats: NatsConnection, { stream, subject }: Config): Promise<void> {
  const { streams } = await jetstreamManager(nats, { timeout: publishMs });
  try {
    await streams.info(stream);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const retention = { max_age: nanos(7 * day), duplicate_window: nanos(knownMs) };
    await streams.add({ name: stream, subjects: [`${subject}.>`], ...retention });
  }
}

async function startConsuming(nats: NatsConnection, { incoming_stream: stream, incoming_consumer: name }: Config) {
  const { streams, consumers } = await jetstreamManager(nats, { timeout: publishMs });
  const { created } = await streams.info(stream).catch((error) => {
    if (!isMissing(error)) throw error;
    const text = `NATS has no stream "${stream}". Create it, or correct the setting incoming_stream.`;
    throw new PluginError("unavailable", text, { cause: error });
  });
  try {
    await consumers.info(stream, name);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await consumers.add(stream, { durable_name: name, ack_policy: AckPolicy.Explicit, ack_wait: nanos(acknowledgeMs) });
  }
  const consumer = await jetstream(nats).consumers.get(stream, name);
  return { created, messages: await consumer.consume({ max_messages: 200 }) };
}

const isMissing = (error: unknown): boolean => (error as { status?: unknown; code?: unknown }).status === 404;

function webhookOf(message: JsMsg, created: string, { incoming_stream, incoming_webhook }: Config): IncomingWebhook {
  const entries = [...(message.headers ?? [])].map(([name, values]) => [name.toLowerCase(), values.at(-1) ?? ""] as const);
  const sent = Object.fromEntries(entries);
  // A stream that was deleted and created again counts from one.
  const id = sent["nats-msg-id"] ?? `${incoming_stream}@${created}:${message.seq}`;
  return {
    id,
    receipt: `${message.seq}.${message.info.deliveryCount}`,
    body: message.string(),
    webhook: incoming_webhook || (message.subject.split(".").at(-1) ?? ""),
    headers: Object.fromEntries(entries.filter(([name]) => !name.startsWith("nats-"))),
  };
}

/** Whatever fails here may succeed later: the host repeats it. */
async function reachable<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError("unavailable", `NATS: ${(error as Error).message}`, { cause: error });
  }
}
