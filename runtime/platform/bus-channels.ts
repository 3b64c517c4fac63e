import type { Database } from "./database/client.ts";
import { countListeners } from "./database/listeners.ts";

/** Carries messages between replicas. */
export interface Channel {
  send(message: string): Promise<unknown>;
  /** How many replicas listen, this one included. */
  members(): Promise<number>;
  close(): void;
}

export interface ChannelEvents {
  /** Handles a message of any replica, including this one. */
  readonly hear: (message: string) => void;
  /** The connection was restored; messages may have been missed. */
  readonly reconnected: () => void;
  /** Reloads all cached values. */
  readonly refresh: () => void;
}
export type OpenChannel = (events: ChannelEvents) => Promise<Channel>;

const name = "signalbox";
const pollMs = 2_000;

export const overPostgres =
  (database: Database): OpenChannel =>
  async ({ hear, reconnected }) => {
    const subscription = await database.listen?.(name, hear, reconnected);
    return {
      send: (message) => database.sql.notify(name, message) as unknown as Promise<unknown>,
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
