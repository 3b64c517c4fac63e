import type { Json } from "./contract.ts";

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

/**
 * A message queue to which the host publishes received events and finished executions. Delivery is at least once: a message
 * that is not acknowledged before its lease ends becomes pending again. Calls throw `PluginError`: `unavailable` if the queue
 * cannot be reached.
 */
export interface Queue {
  /** One sentence that says where messages are stored. */
  readonly about: string;
  /** Stores messages durably. Messages whose id is known, even acknowledged ones, are skipped. */
  publish(messages: readonly CloudEvent[]): Promise<void>;
  /** The messages that are not leased, oldest first, and their total number. */
  pending(page: { limit: number; offset: number }): Promise<{ items: CloudEvent[]; total: number }>;
  /** Leases the oldest pending messages, each to one consumer. */
  take(wanted: { limit: number; lease_seconds: number }): Promise<CloudEvent[]>;
  /** Acknowledges a message. Returns whether the message was taken before and has not expired. */
  ack(id: string): Promise<boolean>;
  /** Deletes messages, and ids of acknowledged messages, that are older than this time (ISO 8601). */
  expire(before: string): Promise<void>;
}
