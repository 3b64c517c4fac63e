import type { Sql } from "./database/client.ts";
import { newId } from "./ids.ts";
import { type Leased, type LeasedRows, renewLease, untilDue } from "./lease-queries.ts";
import type { Log } from "./log.ts";
import { type Loop, startLoop } from "./loop.ts";

interface LeasedWork<Key extends string, Item extends Leased<Key>> {
  /** Name of an item in the log: `a poll`. */
  readonly name: string;
  readonly sql: Sql;
  readonly rows: LeasedRows<Key>;
  /** Number of items that one replica works on at the same time. */
  readonly concurrency: number;
  /** A replica that does not renew its lease for this long loses its item. */
  readonly leaseSeconds: number;
  /** Maximum sleep between two checks, in milliseconds. */
  readonly sweepMs?: number | undefined;
  readonly log: Log;
  /** Runs at every check, even while this replica has no free slot. */
  prepare?(): Promise<unknown>;
  /** Claims one item that is due and that no live replica has leased. */
  claim(sql: Sql, lease: string, leaseSeconds: number): Promise<Item | undefined>;
  /**
   * Never throws. `signal`: aborted when this replica loses the item or stops. `leaseLost`: aborted when it loses the item; otherwise it
   * releases the item at a stop.
   */
  handle(item: Item, signal: AbortSignal, leaseLost: AbortSignal): Promise<void>;
}

const minWaitMs = 50;

/** Works on due items. The replica with the lease owns an item; another takes it over if that replica dies. */
export function startLeasedWork<Key extends string, Item extends Leased<Key>>(work: LeasedWork<Key, Item>): Loop {
  const { name, sql, rows, concurrency, sweepMs = 15_000, log } = work;
  const leasedItems = new Set<Promise<void>>();
  const poll = async (stopSignal: AbortSignal) => {
    await work.prepare?.();
    if (leasedItems.size >= concurrency) return undefined;
    const item = await work.claim(sql, newId(), work.leaseSeconds);
    if (!item) return { pauseMs: Math.min(sweepMs, Math.max(minWaitMs, (await untilDue(sql, rows)) ?? sweepMs)) };
    const run = whileLeased(work, item, stopSignal).finally(() => {
      leasedItems.delete(run);
      loop.wake();
    });
    leasedItems.add(run);
    return { pauseMs: 0 };
  };
  const onError = (error: unknown) => log.warn(`failed to read what is due for ${name}`, { error });
  const loop = startLoop({ everyMs: sweepMs, firstMs: 0, run: poll, onError });
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop();
      await Promise.allSettled(leasedItems);
    },
  };
}

/** Works on an item, and renews its lease until it is done or lost. */
async function whileLeased<Key extends string, Item extends Leased<Key>>(
  { name, sql, rows, leaseSeconds, log, handle }: LeasedWork<Key, Item>,
  item: Item,
  stopSignal: AbortSignal,
): Promise<void> {
  const leaseLost = new AbortController();
  const renewal = startLoop({
    everyMs: (leaseSeconds * 1000) / 3,
    run: async () => {
      if (!(await renewLease(sql, rows, item, leaseSeconds))) leaseLost.abort();
    },
    onError: (error) => log.warn(`the lease of ${name} could not be renewed`, { error }),
  });
  try {
    await handle(item, AbortSignal.any([leaseLost.signal, stopSignal]), leaseLost.signal);
  } finally {
    await renewal.stop();
  }
}
