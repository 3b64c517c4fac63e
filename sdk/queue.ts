import type { Json } from "./source-event.ts";

/** A CloudEvents 1.0 event in its JSON form. */
export interface CloudEvent {
  readonly specversion: "1.0";
  /** Id of the event, the same for every delivery. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly datacontenttype: "application/json";
  readonly data: Json;
}

/** A webhook that arrived over a message bus. */
export interface IncomingWebhook {
  /** Identifies this delivery in `acknowledge`. */
  readonly receipt: string;
  /** Id of the message, the same for every delivery of it; `null` if it has none. */
  readonly id: string | null;
  /** Its destination: the `<slug>` of `/webhook/<slug>`. */
  readonly webhook: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as the platform sent it: its signature covers these characters as UTF-8. */
  readonly body: string;
}

/**
 * The outcome of a delivery. `stored`: its event is durable. `refused`: it is not a valid webhook and cannot become one. `failed`: it
 * could not be stored now; the bus delivers it again.
 */
export interface IncomingOutcome {
  readonly receipt: string;
  readonly outcome: "stored" | "refused" | "failed";
}

/** A queue that also delivers webhooks. Each must pass the same checks as over HTTP, including the signature. */
export interface WebhookFeed {
  /**
   * Returns the oldest webhooks that no replica has received; waits up to `wait_seconds` for the first. Empty if no incoming queue
   * is configured. The bus delivers a webhook again if it is not acknowledged or its connection is lost.
   */
  receive(wanted: { limit: number; wait_seconds: number }): Promise<readonly IncomingWebhook[]>;
  /** Acknowledges deliveries, in the order of `receive`. Receipts from a lost connection are ignored. */
  acknowledge(outcomes: readonly IncomingOutcome[]): Promise<void>;
}

/** A message that its destination refused for itself, for example because its user may not publish messages of this type. */
export interface RefusedMessage {
  /** Id of the message. */
  readonly id: string;
  readonly reason: string;
}

/**
 * A destination, for example a chat, to which the host publishes received events, and executions that ended, wait for approval or
 * are held. Calls throw `PluginError`: `unavailable` if it cannot be reached; the host then publishes the same messages again. A
 * message bus that delivers webhooks also implements `WebhookFeed`.
 */
export interface ForwardingQueue extends Partial<WebhookFeed> {
  /** One sentence that says where messages go. */
  readonly about: string;
  /**
   * Delivers messages durably. Messages whose id is known, even acknowledged ones, are skipped. Returns the messages that the
   * destination refuses for themselves; all others are delivered. If it accepts others, the host sets the refused ones aside and
   * publishes them again later, so that they do not hold up the messages after them. A queue that refuses none need return nothing.
   */
  publish(messages: readonly CloudEvent[]): Promise<readonly RefusedMessage[] | undefined> | Promise<void>;
}

/**
 * A message queue that stores published messages for consumers. Delivery is at least once: a message that is not acknowledged before
 * its lease ends becomes pending again.
 */
export interface Queue extends ForwardingQueue {
  /** The messages that are not leased, oldest first, and their total number. */
  pending(page: { limit: number; offset: number }): Promise<{ items: CloudEvent[]; total: number }>;
  /** Leases the oldest pending messages, each to one consumer. */
  take(wanted: { limit: number; lease_seconds: number }): Promise<CloudEvent[]>;
  /** Acknowledges a message. Returns whether the message was taken before and has not expired. */
  ack(id: string): Promise<boolean>;
  /** Deletes messages, and ids of acknowledged messages, that are older than this time (ISO 8601). */
  expire(before: string): Promise<void>;
}
