import { batch } from "./database/batch.ts";
import type { Database } from "./database/client.ts";
import { countListeners, notifyListeners } from "./database/listen.ts";

/** Carries messages between replicas. */
export interface Channel {
  send(message: string): Promise<unknown>;
  /** How many replicas listen, this one included. */
  members(): Promise<number>;
  close(): void;
}

interface ChannelEvents {
  /** Handles a message of any replica, including this one. */
  readonly onMessage: (message: string) => void;
  /** The connection was restored; messages may have been missed. */
  readonly onReconnect: () => void;
  /** Reloads all cached values. */
  readonly refresh: () => void;
}
export type OpenChannel = (events: ChannelEvents) => Promise<Channel>;

const name = "signalbox";
const pollMs = 2_000;

export const overPostgres =
  (database: Database): OpenChannel =>
  async ({ onMessage, onReconnect }) => {
    const subscription = await database.listen?.(name, onMessage, onReconnect);
    // Messages that arrive during a send share the next one, because the server commits transactions with messages one at a time.
    // A send without an answer does not hold up the others.
    const send = batch(
      async (messages: string[]) => {
        await notifyListeners(database.sql, name, [...new Set(messages)]);
        return messages;
      },
      { maxItems: 1_000, concurrency: 2, beside: Number.POSITIVE_INFINITY },
    );
    return {
      send,
      members: () => countListeners(database.sql, name),
      close: () => subscription?.close(),
    };
  };

/** Sends nothing, because each replica polls. */
export const byPolling: OpenChannel = async ({ refresh }) => {
  const timer = setInterval(refresh, pollMs);
  timer.unref();
  return { send: async () => {}, members: async () => 1, close: () => clearInterval(timer) };
};
