import type { Json } from "./contract.ts";

/** A CloudEvents 1.0 event in its JSON form. */
export interface CloudEvent {
  readonly specversion: "1.0";
  /** The same for every delivery of the message. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly datacontenttype: "application/json";
  readonly data: Json;
}

/**
 * A message queue that the host fills with received events and finished executions. At least once: what is taken and not
 * acknowledged within its lease is pending again. Throws a `PluginError` of code `unavailable` while it does not answer.
 */
export interface Queue {
  /** One sentence: where the messages are kept. */
  readonly about: string;
  /** Stores messages; durable when it resolves. One whose id it knows, acknowledged or not, is passed over. */
  publish(messages: readonly CloudEvent[]): Promise<void>;
  /** The messages that nobody holds, oldest first, and how many there are in all. */
  pending(page: { limit: number; offset: number }): Promise<{ items: CloudEvent[]; total: number }>;
  /** Hands out the oldest pending messages, each to one taker. */
  take(wanted: { limit: number; lease_seconds: number }): Promise<CloudEvent[]>;
  /** Whether it was there: handed out once, and not expired since. */
  ack(id: string): Promise<boolean>;
  /** Forgets messages, and ids of acknowledged ones, from before this time (ISO 8601). */
  expire(before: string): Promise<void>;
}
