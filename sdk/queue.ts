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

/**
 * Where the host publishes received events, and executions that ended, that wait for an approval or that are held, for example a chat.
 * Calls throw `PluginError`: `unavailable` if it cannot be reached; the host then publishes the same messages again.
 */
export interface ForwardingQueue {
  /** One sentence that says where messages go. */
  readonly about: string;
  /** Delivers messages durably. Messages whose id is known, even acknowledged ones, are skipped. */
  publish(messages: readonly CloudEvent[]): Promise<void>;
}

/**
 * A message queue that stores what is published, for consumers. Delivery is at least once: a message that is not acknowledged before
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
