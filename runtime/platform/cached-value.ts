import type { Bus, Topic } from "./bus.ts";
import type { Log } from "./log.ts";
import { type Loop, startLoop } from "./loop.ts";

interface CachedValueOptions {
  /** Name in the log: `routing`. */
  readonly name: string;
  /** Topics that announce a change, on any replica. */
  readonly topic: Topic | readonly Topic[];
  /** Reads everything and replaces the previous value. */
  read(): Promise<void>;
  readonly bus: Bus;
  readonly log: Log;
  /** Maximum age of the value if a notification is lost, in milliseconds. */
  readonly sweepMs?: number;
}

export interface CachedValue {
  /** Resolves once all changes before the call are read. */
  refresh(): Promise<void>;
  close(): void;
}

/** Pause after a failed read, in milliseconds: it may have been for a change. */
const againMs = 1_000;

/**
 * Reads immediately, and again after each change. Only one read runs at a time, so that an older result never replaces a
 * newer one. A read that is in progress may have missed a change, so callers of `refresh` wait for the next read, which they
 * share. A read that fails is repeated until one succeeds.
 */
export async function openCachedValue({
  name,
  topic,
  read,
  bus,
  log,
  sweepMs = 30_000,
}: CachedValueOptions): Promise<CachedValue> {
  let lastRead: Promise<void> = Promise.resolve();
  let nextRead: Promise<void> | null = null;
  const readNext = () => {
    if (nextRead) return nextRead;
    nextRead = lastRead
      .catch(() => {})
      .then(() => {
        nextRead = null;
        return read();
      });
    lastRead = nextRead;
    return nextRead;
  };
  let sweeps: Loop | undefined;
  let isFailing = false;
  let again: ReturnType<typeof setTimeout> | undefined;
  const refresh = () =>
    readNext().catch((error) => {
      clearTimeout(again);
      again = setTimeout(() => sweeps?.wake(), againMs).unref();
      throw error;
    });
  for (const one of [topic].flat()) bus.on(one, refresh);
  await readNext();
  sweeps = startLoop({
    everyMs: sweepMs,
    run: async () => {
      await readNext();
      isFailing = false;
    },
    onError: (error) => {
      // Once for each outage, although it may last for hours.
      if (!isFailing) log.warn(`failed to reload the ${name}; retrying`, { error });
      isFailing = true;
      return { pauseMs: againMs };
    },
  });
  const close = () => {
    clearTimeout(again);
    void sweeps?.stop();
  };
  return { refresh, close };
}
