import { type Channel, type OpenChannel, overPostgres } from "./bus-channels.ts";
import type { Database } from "./database/client.ts";
import type { Log } from "./log.ts";

/** The topics of messages between replicas. */
export type Topic =
  /** Routing changed. */
  | "mappings"
  /** An integration changed. */
  | "integrations"
  /** The policy of a project or an agent changed. */
  | "policy"
  /** A tool or a tool server changed. */
  | "tools"
  /** Executions wait for a worker. */
  | "queue"
  /** A model or a connection became unavailable or available for all executions. */
  | "breakers"
  /** An execution was cancelled; its id. */
  | "cancel"
  /** The first row of `memories` or `chunks` exists. */
  | "memory"
  /** A knowledge source must be synced, or its settings changed. */
  | "knowledge"
  /** Executions wait for a connected agent; its id. */
  | "gateway"
  /** A connected agent has finished an execution; its id. */
  | "handed-in"
  /** An external agent connected or left. */
  | "streams"
  /** Plugins changed. With an id, the process of that plugin must be restarted. */
  | "plugins"
  /** API keys changed. */
  | "keys"
  /** A secret of a knowledge source or a plugin was stored. Integrations and mappings have their own topics. */
  | "secrets";
type Listener = (payload: string) => void | Promise<void>;

/**
 * Publishes to the listeners of this replica, waits for all of them and throws the first error of one. Publishes to other
 * replicas through a channel, and for topics that affect the next request waits for them for at most half a second. Delivery
 * is not guaranteed, so every listener also polls from time to time.
 */
export interface Bus {
  publish(topic: Topic, payload?: string): Promise<void>;
  on(topic: Topic, listener: Listener): void;
  close(): void;
}

/** After a message about one of these topics, no replica may use the old state. */
const decisive: ReadonlySet<Topic> = new Set(["mappings", "integrations", "policy", "tools", "keys", "secrets"]);
/** Topics that may have changed while the connection was lost. */
const cached: readonly Topic[] = [...decisive, "queue", "breakers", "streams", "plugins", "knowledge"];
const maxWaitMs = 500;

export async function openBus(database: Database, log: Log, openChannel: OpenChannel = overPostgres(database)): Promise<Bus> {
  const self = crypto.randomUUID();
  const listeners = new Map<Topic, Listener[]>();
  const tell = async (topic: Topic, payload: string) => {
    const results = await Promise.allSettled((listeners.get(topic) ?? []).map(async (listener) => listener(payload)));
    const failed = results.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  };
  const waiting = new Map<string, () => void>();
  const hear = (message: string) => {
    const [sender, topic, ...rest] = message.split(" ");
    const payload = rest.join(" ");
    if (sender === self) return;
    if (topic === "heard") return waiting.get(payload)?.();
    const heard = () => (decisive.has(topic as Topic) && payload ? channel?.send(`${self} heard ${payload}`) : null);
    tell(topic as Topic, payload)
      .then(heard)
      .catch((error) => log.error("notification failed", { topic, error }));
  };
  /** Resolves when the listeners of every other replica have finished. */
  const sendAndWait = async (to: Channel, topic: Topic) => {
    const id = crypto.randomUUID();
    let others = (await to.members()) - 1;
    const all = Promise.withResolvers<void>();
    const timer = setTimeout(all.resolve, maxWaitMs);
    if (others <= 0) all.resolve();
    waiting.set(id, () => --others <= 0 && all.resolve());
    try {
      await to.send(`${self} ${topic} ${id}`);
      await all.promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  };
  const refresh = () => {
    for (const topic of cached) tell(topic, "").catch((error) => log.error("refresh failed", { topic, error }));
  };
  const reconnected = () => {
    log.info("listening to other replicas again; cached values are reloaded");
    refresh();
  };
  const channel = database.kind === "embedded" ? null : await openChannel({ hear, reconnected, refresh });
  return {
    publish: async (topic, payload = "") => {
      try {
        await tell(topic, payload);
      } finally {
        // The change is stored, so the others must be notified even if a listener of this replica fails.
        if (channel) await (decisive.has(topic) ? sendAndWait(channel, topic) : channel.send(`${self} ${topic} ${payload}`));
      }
    },
    on: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
    close: () => channel?.close(),
  };
}
