import type { Client } from "./client.ts";

/** States, labels and members change rarely, and on the public platform a request takes a second. */
const freshMs = 5 * 60_000;
const maxEntries = 500;

/**
 * Remembers a list of names of an account for five minutes, by the other arguments. `signal` comes last. Failures are not
 * remembered.
 */
export function cacheFor<A extends readonly string[], T>(
  read: (client: Client, ...rest: [...A, AbortSignal]) => Promise<T>,
): (client: Client, ...rest: [...A, AbortSignal]) => Promise<T> {
  const known = new WeakMap<Client, Map<string, { at: number; value: T }>>();
  return async (client, ...rest) => {
    const lists = known.get(client) ?? new Map<string, { at: number; value: T }>();
    known.set(client, lists);
    const name = rest.slice(0, -1).join(" ");
    const before = lists.get(name);
    if (before && Date.now() - before.at < freshMs) return before.value;
    const value = await read(client, ...rest);
    if (lists.size >= maxEntries) lists.clear();
    lists.set(name, { at: Date.now(), value });
    return value;
  };
}
