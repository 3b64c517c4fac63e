import type { CloudEvent, ForwardingQueue, Queue, RefusedMessage } from "@signalbox/sdk";
import { databaseTime } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log, Report } from "../platform/log.ts";
import { ofQueue, publishFailure, QueueRefuses } from "./failures.ts";
import { Loops, loopEach, type RunResult } from "./loops.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, keptDays, type MessageRow, releaseMessages, sweepQueues, takeMessages } from "./queries.ts";
import { expireRefused, forgetRefused, refusedAgain, setAside, takeRefused } from "./refused-queries.ts";

interface RelayOptions {
  readonly sql: Sql;
  /** Queues of the loaded plugins; call `refresh` after a change. */
  readonly queues: ReadonlyMap<string, Queue | ForwardingQueue>;
  readonly log: Log;
  /** Reports to the watchdog. */
  readonly warn: Report;
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
/** Maximum number of messages that one report names. */
const maxNamed = 20;
/**
 * Copies messages into the plugins' queues and deletes old ones. The relay consumes the database's log under the
 * name of the queue that it fills. Replicas share the work by leases; a batch of a crashed replica is copied again.
 */
export function startRelay({ sql, queues, log, warn, relayMs = 1000, sweepMs = 30_000 }: RelayOptions): QueueWorker {
  const relay = async (queue: Queue | ForwardingQueue, name: string): Promise<RunResult> => {
    const count = await copyPending({ sql, log, warn }, queue, name);
    const again = await copyRefused(sql, queue, name);
    return count === atOnce || again === atOnce ? "more" : "done";
  };
  const sweep = async (): Promise<RunResult> => {
    await sweepQueues(sql);
    for (const { queue, count } of await expireRefused(sql))
      warn("messages were refused by a queue for seven days and are deleted from it", { queue, count });
    const before = new Date(databaseTime() - keptDays * 86_400_000).toISOString();
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

type Destination = Queue | ForwardingQueue;

/** Publishes the oldest pending messages. Returns how many there were. */
async function copyPending(
  { sql, log, warn }: Pick<RelayOptions, "sql" | "log" | "warn">,
  queue: Destination,
  name: string,
): Promise<number> {
  const rows = await takeMessages(sql, name, atOnce, leaseSeconds);
  const left = new Set(rows.map(({ id }) => id));
  const publish = (some: readonly MessageRow[]) =>
    publishRows(queue, some, async (accepted) => {
      await ackMessages(sql, name, accepted);
      for (const id of accepted) left.delete(id);
    });
  try {
    const refused = await publish(rows);
    if (refused.length === 0) return rows.length;
    let acceptsOthers = left.size < rows.length;
    if (!acceptsOthers && rows.length === atOnce) {
      // Messages of other kinds may wait behind this batch.
      const others = await takeMessages(sql, name, atOnce, leaseSeconds, [...new Set(rows.map(({ kind }) => kind))]);
      for (const { id } of others) left.add(id);
      refused.push(...(await publish(others)));
      rows.push(...others);
      acceptsOthers = left.size < rows.length;
    }
    if (!acceptsOthers) throw new QueueRefuses(refused[0]?.reason);
    const isFirst = await setAside(sql, name, rows, refused);
    const items = refused.slice(0, maxNamed).map(({ id }) => id);
    const context = { queue: name, reason: refused[0]?.reason, items, count: refused.length };
    const report = isFirst ? warn : log.warn;
    report("a queue refused messages; they are published again later", context);
    return rows.length;
  } catch (error) {
    // Otherwise newer messages would overtake these during their lease.
    await releaseMessages(sql, name, [...left]);
    throw error;
  }
}

/** Publishes again what the queue refused before and is due. Returns how many messages there were. */
async function copyRefused(sql: Sql, queue: Destination, name: string): Promise<number> {
  const rows = await takeRefused(sql, name, atOnce, leaseSeconds);
  const refused = await publishRows(queue, rows, (accepted) => forgetRefused(sql, name, accepted));
  await refusedAgain(sql, name, refused);
  return rows.length;
}

/** Publishes rows in their order, and passes on which the queue accepted. Returns those that it refused. */
async function publishRows(
  queue: Destination,
  rows: readonly MessageRow[],
  onAccepted: (ids: readonly string[]) => Promise<void>,
): Promise<RefusedMessage[]> {
  const refused: RefusedMessage[] = [];
  for (const portion of portionsOf(rows.map(toCloudEvent))) {
    const ids = new Set(portion.map(({ id }) => id));
    const refusedNow = (await ofQueue(publishPortion(queue, portion))).filter(({ id }) => ids.delete(id));
    await onAccepted([...ids]);
    refused.push(...refusedNow);
  }
  return refused;
}

const publishPortion = async (queue: Destination, portion: readonly CloudEvent[]): Promise<readonly RefusedMessage[]> =>
  (await queue.publish(portion)) ?? [];

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
