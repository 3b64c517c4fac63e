import type { CloudEvent, ForwardingQueue, Queue } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { ofQueue, publishFailure } from "./failures.ts";
import { Loops, loopEach, type RunResult } from "./loops.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, keptDays, releaseMessages, sweepQueues, takeMessages } from "./queries.ts";

interface RelayOptions {
  readonly sql: Sql;
  /** Queues of the loaded plugins; call `refresh` after a change. */
  readonly queues: ReadonlyMap<string, Queue | ForwardingQueue>;
  readonly log: Log;
  /** Interval of the relay, milliseconds. */
  readonly relayMs?: number;
  readonly sweepMs?: number;
}
export interface QueueWorker {
  /** Call after queues were loaded; removed queues stop on their own. */
  refresh(): void;
  /** Why a queue fails now, in words; `null` if it does not. */
  failureOf(name: string): string | null;
  stop(): Promise<void>;
}

const atOnce = 500;
/** Lease of one batch, seconds: after a crash another replica takes it over. */
const leaseSeconds = 30;
/** Maximum size of a batch that is passed to a queue, in characters, because the plugin's process must hold it in memory. */
const portionSize = 1_000_000;
/**
 * Copies messages into the plugins' queues and deletes old ones. The relay consumes the database's log under the
 * name of the queue that it fills. Replicas share the work by leases; a batch of a crashed replica is copied again.
 */
export function startRelay({ sql, queues, log, relayMs = 1000, sweepMs = 30_000 }: RelayOptions): QueueWorker {
  const relay = async (queue: Queue | ForwardingQueue, name: string): Promise<RunResult> => {
    const rows = await takeMessages(sql, name, atOnce, leaseSeconds);
    const ids = new Set(rows.map(({ id }) => id));
    try {
      for (const portion of portionsOf(rows.map(toCloudEvent))) {
        await ofQueue(queue.publish(portion));
        const copiedIds = portion.map(({ id }) => id);
        await ackMessages(sql, name, copiedIds);
        for (const id of copiedIds) ids.delete(id);
      }
    } catch (error) {
      // Otherwise newer messages would overtake these during their lease.
      await releaseMessages(sql, name, [...ids]);
      throw error;
    }
    return rows.length === atOnce ? "more" : "done";
  };
  const sweep = async (): Promise<RunResult> => {
    await sweepQueues(sql);
    const before = new Date(Date.now() - keptDays * 86_400_000).toISOString();
    // Separate from the relay: an unavailable queue must not stop the clean-up of the others.
    const expired = await Promise.allSettled([...queues.values()].map((queue) => "expire" in queue && queue.expire(before)));
    const failed = expired.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return "done";
  };
  const loops = new Loops(log);
  const failure = (name: string) => `failed to copy messages to the queue ${name}`;
  const refresh = loopEach(loops, { queues, failure, everyMs: relayMs, run: relay });
  // No queue can have this name.
  void loops.start("", "failed to sweep queues", sweepMs, sweep);
  return { refresh, failureOf: (name) => loops.failureOf(name, publishFailure), stop: () => loops.stop() };
}

function portionsOf(messages: readonly CloudEvent[]): CloudEvent[][] {
  const portions: CloudEvent[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    const length = JSON.stringify(message).length;
    if (size + length > portionSize) {
      portions.push([]);
      size = 0;
    }
    portions.at(-1)?.push(message);
    size += length;
  }
  return portions;
}
