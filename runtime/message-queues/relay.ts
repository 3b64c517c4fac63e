import type { CloudEvent, Queue } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { sleep } from "../platform/retry.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, keptDays, releaseMessages, sweepQueues, takeMessages } from "./queries.ts";

export interface KeepOptions {
  readonly sql: Sql;
  /** Changes when plugins come and go; `changed` tells of it. */
  readonly queues: ReadonlyMap<string, Queue>;
  readonly log: Log;
  /** Longest time that a message waits to be copied, milliseconds. */
  readonly relayMs?: number;
  readonly sweepMs?: number;
}
export interface Keeper {
  /** There may be queues that were not there before; those that are gone are left by themselves. */
  changed(): void;
  stop(): Promise<void>;
}

const atOnce = 500;
/** A replica that dies over a portion leaves it to the others after so long. */
const leaseSeconds = 30;
/** Characters that a queue is handed at the same time, which its process must be able to take. */
const portionSize = 1_000_000;
/** Longest wait between tries at a queue that does not take its messages. */
const longestMs = 15_000;

/**
 * Copies messages into the plugins' queues and forgets old ones. The relay is a consumer of the database's log under the
 * name of the queue that it fills: replicas share the work by leases, and what one had copied when it died is copied again.
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
    // Looked up each time: an upgrade puts another in its place.
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
      // Else newer ones would overtake them while they are held.
      await releaseMessages(sql, name, [...ids]);
      throw error;
    }
    return rows.length === atOnce ? "more" : "done";
  };
  const sweep = async () => {
    await sweepQueues(sql);
    const before = new Date(Date.now() - keptDays * 86_400_000).toISOString();
    // Apart: one that is away for good must not keep the others' messages for good.
    const expired = await Promise.allSettled([...queues.values()].map((queue) => queue.expire(before)));
    const failed = expired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return "done" as const;
  };
  const relays = new Map<string, Promise<void>>();
  const changed = () => {
    if (signal.aborted) return;
    for (const name of queues.keys()) {
      if (relays.has(name)) continue;
      const run = repeat(`messages were not copied to the queue ${name}`, relayMs, () => relay(name));
      relays.set(name, run);
      void run.then(() => {
        relays.delete(name);
        // It may have come back while the relay that missed it ended.
        if (queues.has(name)) changed();
      });
    }
  };
  changed();
  const sweeping = repeat("queues were not swept", sweepMs, sweep);
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
