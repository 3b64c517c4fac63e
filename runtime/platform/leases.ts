import { newId } from "./ids.ts";
import type { Log } from "./log.ts";
import { sleep } from "./retry.ts";

export interface LeasedWork<Item> {
  /** Name of an item in the log: `a poll`. */
  readonly name: string;
  /** Items that one replica works on at the same time. */
  readonly concurrency: number;
  /** A replica that is silent for this long loses its item. */
  readonly leaseSeconds: number;
  /** Longest sleep between two looks, milliseconds. */
  readonly sweepMs?: number | undefined;
  readonly log: Log;
  /** Runs at every look, even while this replica has no free place. */
  prepare?(): Promise<unknown>;
  /** Claims one item that is due and that no live replica holds. */
  claim(lease: string): Promise<Item | undefined>;
  /** Milliseconds until an item is due; `null` where none waits. */
  untilDue(): Promise<number | null>;
  /** Renews an item's lease; `false` if this replica has lost it. */
  renew(item: Item): Promise<boolean>;
  /** Never throws. `lost`: this replica has lost the item; `stopping`: release it. */
  carryOut(item: Item, lost: AbortSignal, stopping: AbortSignal): Promise<void>;
}

export interface Worker {
  /** Something is due; look now. */
  wake(): void;
  /** Ends what is under way. */
  stop(): Promise<void>;
}

/** Works on due items. The replica with the lease owns an item; another takes it over if that replica dies. */
export function startLeasedWork<Item>(work: LeasedWork<Item>): Worker {
  const { name, concurrency, sweepMs = 15_000, log } = work;
  const stopping = new AbortController();
  const held = new Set<Promise<void>>();
  let rouse = new AbortController();
  const wake = () => rouse.abort();

  const loop = async () => {
    while (!stopping.signal.aborted) {
      rouse = new AbortController();
      let wait = sweepMs;
      try {
        await work.prepare?.();
        const item = held.size < concurrency ? await work.claim(newId()) : undefined;
        if (item) {
          const run = whileKept(work, item, stopping.signal).finally(() => {
            held.delete(run);
            wake();
          });
          held.add(run);
          continue;
        }
        if (held.size < concurrency) wait = Math.min(sweepMs, Math.max(50, (await work.untilDue()) ?? sweepMs));
      } catch (error) {
        log.warn(`failed to read what is due for ${name}`, { error });
      }
      await sleep(wait, AbortSignal.any([rouse.signal, stopping.signal])).catch(() => {});
    }
  };

  const running = loop();
  return {
    wake,
    stop: async () => {
      stopping.abort();
      await running;
      await Promise.allSettled(held);
    },
  };
}

async function whileKept<Item>(work: LeasedWork<Item>, item: Item, stopping: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const lost = new AbortController();
  const keeping = keep(work, item, ended.signal, lost);
  try {
    await work.carryOut(item, lost.signal, stopping);
  } finally {
    ended.abort();
    await keeping;
  }
}

async function keep<Item>(work: LeasedWork<Item>, item: Item, ended: AbortSignal, lost: AbortController): Promise<void> {
  while (!ended.aborted) {
    await sleep((work.leaseSeconds * 1000) / 3, ended).catch(() => {});
    if (ended.aborted) return;
    try {
      if (!(await work.renew(item))) return lost.abort();
    } catch (error) {
      work.log.warn(`the lease of ${work.name} could not be renewed`, { error });
    }
  }
}
