import { PluginError } from "@signalbox/sdk";
import type { Connect, HostClient } from "./client.ts";

/** A value that is created on a connection, kept until the connection ends, and created again when it is next needed. */
export interface CachedValue<T> {
  /** Throws a `PluginError`. */
  get(): Promise<T>;
  /** `null` where there is none now. */
  current(): Promise<T | null>;
  close(): Promise<void>;
}

export function cacheOn<T extends { readonly client: HostClient }>(
  connect: Connect,
  make: (client: HostClient) => Promise<T>,
): CachedValue<T> {
  let current: Promise<T> | null = null;
  const open = async (): Promise<T> => {
    const client = await connect();
    try {
      const value = await make(client);
      void client.ended.then(() => {
        current = null;
      });
      return value;
    } catch (error) {
      client.end();
      throw unavailable(error);
    }
  };
  const now = async () => (await current?.catch(() => null)) ?? null;
  return {
    get: () => {
      const opening = current ?? open();
      current = opening;
      opening.catch(() => {
        if (current === opening) current = null;
      });
      return opening;
    },
    current: now,
    close: async () => (await now())?.client.end(),
  };
}

/** Whatever fails at the broker may succeed later: the host repeats it. */
export const unavailable = (error: unknown): PluginError =>
  error instanceof PluginError
    ? error
    : new PluginError("unavailable", `RabbitMQ: ${(error as Error).message}`, { cause: error });
