import type { Database } from "./database/client.ts";
import type { Log } from "./log.ts";

/** What replicas tell each other. */
export type Topic =
  /** Routing changed. */
  | "mappings"
  /** An integration changed. */
  | "integrations"
  /** A tool or a tool server changed. */
  | "tools"
  /** Executions wait for a worker. */
  | "queue"
  /** An execution was cancelled; its id. */
  | "cancel"
  /** The first of `memories` or `chunks` is there. */
  | "memory"
  /** A knowledge source is to be synced, or its settings changed. */
  | "knowledge"
  /** Executions wait for a connected agent; its id. */
  | "gateway"
  /** A connected agent has finished an execution; its id. */
  | "handed-in"
  /** An external agent connected or left. */
  | "streams"
  /** Plugins changed; with an id, its process is to be started again. */
  | "plugins"
  /** API keys changed. */
  | "keys";
type Listener = (payload: string) => void | Promise<void>;

/**
 * Publishes to this replica, awaiting its listeners, and to the others by NOTIFY. Delivery to others is not promised:
 * every listener also looks by itself from time to time.
 */
export interface Bus {
  publish(topic: Topic, payload?: string): Promise<void>;
  on(topic: Topic, listener: Listener): void;
  close(): Promise<void>;
}

const channel = "signalbox";

export async function openBus(database: Database, log: Log): Promise<Bus> {
  const self = crypto.randomUUID();
  const listeners = new Map<Topic, Listener[]>();
  const tell = async (topic: Topic, payload: string) => {
    for (const listener of listeners.get(topic) ?? []) await listener(payload);
  };
  const hear = (message: string) => {
    const [sender, topic, ...payload] = message.split(" ");
    if (sender === self) return;
    tell(topic as Topic, payload.join(" ")).catch((error) => log.error("notification failed", { topic, error }));
  };
  const alone = database.kind === "embedded";
  const subscription = alone
    ? null
    : await database.sql.listen(channel, hear, () => {
        // After a lost connection anything may have been missed.
        for (const topic of ["mappings", "integrations", "tools", "queue", "streams", "plugins", "keys"] as const)
          tell(topic, "").catch((error) => log.error("refresh failed", { topic, error }));
      });
  return {
    publish: async (topic, payload = "") => {
      await tell(topic, payload);
      if (!alone) await database.sql.notify(channel, `${self} ${topic} ${payload}`);
    },
    on: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
    close: async () => void (await subscription?.unlisten().catch(() => {})),
  };
}
