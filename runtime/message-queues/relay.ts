import type { CloudEvent, ForwardingQueue, Queue } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { sleep } from "../platform/retry.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, keptDays, releaseMessages, sweepQueues, takeMessages } from "./queries.ts";

export interface KeepOptions {
  readonly sql: Sql;
  /** Queues of the loaded plugins; call `changed` after a change. */
  readonly queues: ReadonlyMap<string, Queue | ForwardingQueue>;
  readonly log: Log;
  /** Interval of the relay, milliseconds. */
  readonly relayMs?: number;
  readonly sweepMs?: number;
}
export interface Keeper {
  /** Call after queues were loaded; removed queues stop by themselves. */
  changed(): void;
  stop(): Promise<void>;
}

const atOnce = 500;
/** Lease of one batch, seconds: after a crash another replica takes it over. */
const leaseSeconds = 30;
/** Largest batch handed to a queue, characters; its process must hold it. */
const portionSize = 1_000_000;
/** Longest wait between retries of a failing queue, milliseconds. */
const longestMs = 15_000;

/**
 * Copies messages into the plugins' queues and deletes old ones. The relay consumes the database's log under the
 * name of the queue that it fills. Replicas share the work by leases; a batch of a crashed replica is copied again.
 */
export function startRelay({ sql, queues, log, relayMs = 1000, sweepMs = 30_000 }: KeepOptions): Keeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async (what: string, everyMs: number, run: () => Promise<"more" | "done" | "over">) => {
    for (let failures = 0; !signal.aborted; ) {
      let found = "done";
      try {
        found = await run();
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn(what, { error: String(error) });
      }
      if (found === "over") return;
      const wait = failures === 0 ? everyMs : Math.max(everyMs, Math.min(longestMs, everyMs * 2 ** (failures - 1)));
      if (found !== "more") await sleep(wait, signal).catch(() => {});
    }
  };
  const relay = async (name: string) => {
    // Looked up each time, because an upgrade replaces it.
    const queue = queues.get(name);
    if (!queue) return "over";
    const rows = await takeMessages(sql, name, atOnce, leaseSeconds);
    const ids = new Set(rows.map(({ id }) => id));
    try {
      for (const portion of portionsOf(rows.map(toCloudEvent))) {
        await queue.publish(portion);
        const copied = portion.map(({ id }) => id);
        await ackMessages(sql, name, copied);
        for (const id of copied) ids.delete(id);
      }
    } catch (error) {
      // Otherwise newer messages would overtake them while their lease lasts.
      await releaseMessages(sql, name, [...ids]);
      throw error;
    }
    return rows.length === atOnce ? "more" : "done";
  };
  const sweep = async () => {
    await sweepQueues(sql);
    const before = new Date(Date.now() - keptDays * 86_400_000).toISOString();
    // Separate from the relay: an unavailable queue must not stop the clean-up of the others.
    const expired = await Promise.allSettled([...queues.values()].map((queue) => "expire" in queue && queue.expire(before)));
    const failed = expired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return "done" as const;
  };
  const relays = new Map<string, Promise<void>>();
  const changed = () => {
    if (signal.aborted) return;
    for (const name of queues.keys()) {
      if (relays.has(name)) continue;
      const run = repeat(`failed to copy messages to the queue ${name}`, relayMs, () => relay(name));
      relays.set(name, run);
      void run.then(() => {
        relays.delete(name);
        // The queue may have returned while its relay was ending.
        if (queues.has(name)) changed();
      });
    }
  };
  changed();
  const sweeping = repeat("failed to sweep queues", sweepMs, sweep);
  return {
    changed,
    stop: async () => {
      stopping.abort();
      await Promise.all([...relays.values(), sweeping]);
    },
  };
}

function portionsOf(messages: readonly CloudEvent[]): CloudEvent[][] {
  const portions: CloudEvent[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    const own = JSON.stringify(message).length;
    if (size + own > portionSize) {
      portions.push([]);
      size = 0;
    }
    portions.at(-1)?.push(message);
    size += own;
  }
  return portions;
}
