import type { Queue } from "@signalbox/sdk";
import { pause } from "../agent/attempts.ts";
import type { Sql } from "../database/client.ts";
import type { Log } from "../log.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, keptDays, sweepQueues, takeMessages } from "./queries.ts";

export interface KeepOptions {
  readonly sql: Sql;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly log: Log;
  /** Longest time that a message waits to be copied, milliseconds. */
  readonly relayMs?: number;
  readonly sweepMs?: number;
}

const atOnce = 500;
/** A replica that dies over a portion leaves it to the others after so long. */
const leaseSeconds = 30;

/**
 * Copies messages into the plugins' queues and forgets old ones. The relay is a consumer of the database's log under the
 * name of the queue that it fills: replicas share the work by leases, and what one had copied when it died is copied again.
 */
export function keepQueues({ sql, queues, log, relayMs = 1000, sweepMs = 30_000 }: KeepOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async (what: string, everyMs: number, run: () => Promise<boolean>) => {
    while (!signal.aborted) {
      let more = false;
      try {
        more = await run();
      } catch (error) {
        log.warn(what, { error: String(error) });
      }
      if (!more) await pause(everyMs, signal).catch(() => {});
    }
  };
  const relay = async (name: string, queue: Queue): Promise<boolean> => {
    const rows = await takeMessages(sql, name, atOnce, leaseSeconds);
    if (rows.length === 0) return false;
    await queue.publish(rows.map(toCloudEvent));
    const ids = rows.map((row) => row.id);
    await ackMessages(sql, name, ids);
    return rows.length === atOnce;
  };
  const sweep = async (): Promise<boolean> => {
    await sweepQueues(sql);
    const before = new Date(Date.now() - keptDays * 86_400_000).toISOString();
    for (const queue of queues.values()) await queue.expire(before);
    return false;
  };
  const running = Promise.all([
    ...[...queues].map(([name, queue]) =>
      repeat(`messages were not copied to the queue ${name}`, relayMs, () => relay(name, queue)),
    ),
    repeat("queues were not swept", sweepMs, sweep),
  ]);
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
