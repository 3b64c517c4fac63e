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
const decisiveTopics: ReadonlySet<Topic> = new Set(["mappings", "integrations", "policy", "tools", "keys", "secrets"]);
/** Topics that may have changed while the connection was lost. */
const cachedTopics: readonly Topic[] = [...decisiveTopics, "queue", "breakers", "streams", "plugins", "knowledge"];
const maxWaitMs = 500;

export async function openBus(database: Database, log: Log, openChannel: OpenChannel = overPostgres(database)): Promise<Bus> {
  const senderId = crypto.randomUUID();
  const listeners = new Map<Topic, Listener[]>();
  const notify = async (topic: Topic, payload: string) => {
    const results = await Promise.allSettled((listeners.get(topic) ?? []).map(async (listener) => listener(payload)));
    const failed = results.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  };
  const pendingAnswers = new Map<string, () => void>();
  const onMessage = (message: string) => {
    const [sender, topic, ...rest] = message.split(" ");
    const payload = rest.join(" ");
    if (sender === senderId) return;
    if (topic === "heard") return pendingAnswers.get(payload)?.();
    const heard = () => (decisiveTopics.has(topic as Topic) && payload ? channel?.send(`${senderId} heard ${payload}`) : null);
    notify(topic as Topic, payload)
      .then(heard)
      .catch((error) => log.error("failed to handle a change that another replica made", { topic, error }));
  };
  /** Resolves when the listeners of every other replica have finished. */
  const sendAndWait = async (to: Channel, topic: Topic) => {
    const id = crypto.randomUUID();
    let others = (await to.members()) - 1;
    const allAnswered = Promise.withResolvers<void>();
    const timer = setTimeout(allAnswered.resolve, maxWaitMs);
    if (others <= 0) allAnswered.resolve();
    pendingAnswers.set(id, () => --others <= 0 && allAnswered.resolve());
    try {
      await to.send(`${senderId} ${topic} ${id}`);
      await allAnswered.promise;
    } finally {
      clearTimeout(timer);
      pendingAnswers.delete(id);
    }
  };
  const refresh = () => {
    for (const topic of cachedTopics)
      notify(topic, "").catch((error) => log.error("failed to reload cached values", { topic, error }));
  };
  const onReconnect = () => {
    log.info("listening to other replicas again; cached values are reloaded");
    refresh();
  };
  const channel = database.kind === "embedded" ? null : await openChannel({ onMessage, onReconnect, refresh });
  return {
    publish: async (topic, payload = "") => {
      try {
        await notify(topic, payload);
      } finally {
        // The change is stored, so the others must be notified even if a listener of this replica fails.
        if (channel)
          await (decisiveTopics.has(topic) ? sendAndWait(channel, topic) : channel.send(`${senderId} ${topic} ${payload}`));
      }
    },
    on: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
    close: () => channel?.close(),
  };
}
