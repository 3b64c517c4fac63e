import { PluginError } from "@signalbox/sdk";
import type { Connect, HostClient } from "./client.ts";

/** A value that is created on a connection, kept until the connection ends, and created again when it is next needed. */
interface CachedValue<T> {
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
  let currentValue: Promise<T> | null = null;
  const open = async (): Promise<T> => {
    const client = await connect();
    try {
      const value = await make(client);
      void client.ended.then(() => {
        currentValue = null;
      });
      return value;
    } catch (error) {
      client.end();
      throw unavailableError(error);
    }
  };
  const now = async () => (await currentValue?.catch(() => null)) ?? null;
  return {
    get: () => {
      const opening = currentValue ?? open();
      currentValue = opening;
      opening.catch(() => {
        if (currentValue === opening) currentValue = null;
      });
      return opening;
    },
    current: now,
    close: async () => (await now())?.client.end(),
  };
}

/** Whatever fails at the broker may succeed later: the host repeats it. */
export const unavailableError = (error: unknown): PluginError =>
  error instanceof PluginError
    ? error
    : new PluginError("unavailable", `RabbitMQ: ${(error as Error).message}`, { cause: error });
