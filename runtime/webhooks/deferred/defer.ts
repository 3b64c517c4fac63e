import { amountText } from "../../platform/amount-text.ts";
import { batch } from "../../platform/database/batch.ts";
import type { Sql } from "../../platform/database/client.ts";
import { messageOf } from "../../platform/error-text.ts";
import { newId } from "../../platform/ids.ts";
import { storableText } from "../../platform/json.ts";
import type { Log, Report } from "../../platform/log.ts";
import { type Loop, startLoop } from "../../platform/loop.ts";
import { runInOrder } from "../in-order.ts";
import { PluginUnavailable } from "../plugin-unavailable.ts";
import type { InOrder } from "../received-webhook.ts";
import {
  backlogs,
  claimDeferred,
  claimExpired,
  type DeferredRow,
  deleteDeferred,
  findWaiting,
  insertDeferred,
  type NewDeferred,
  type Partition,
  type PartitionBacklog,
  releaseDeferred,
} from "./queries.ts";

interface Reader {
  /**
   * Parses one webhook and stores its event under the row's id. `last`: if parsing fails again, the event is stored as
   * unreadable. Throws `PluginUnavailable`.
   */
  read(row: DeferredRow, how: { last: boolean; inOrder: InOrder }): Promise<void>;
  /** Stores its event as discarded, for this reason. */
  discard(row: DeferredRow, reason: string): Promise<void>;
  /** Whether this replica can call the plugin now. */
  serves(plugin: string): boolean;
}
interface DeferredOptions {
  /** Maximum time for which a webhook waits, in seconds. */
  readonly ttl: number;
  readonly log: Log;
  /** Writes an error to the watchdog. */
  readonly alarm: Report;
}

/** Maximum number of webhooks that are parsed at the same time; their events are stored one after the other. */
const concurrency = 20;
const maxAttempts = 5;
const sweepMs = 5_000;
/** If a webhook has waited longer than this, in seconds, the watchdog reports it. */
const reportAfter = 300;

const keyOf = ({ plugin, slug }: Partition) => JSON.stringify([plugin, slug]);

/**
 * Webhooks whose plugin was unavailable when they arrived. They are stored unchanged and parsed in order once the plugin is
 * running.
 */
export class DeferredWebhooks {
  readonly #sql: Sql;
  readonly #options: DeferredOptions;
  readonly #sweeps: Loop;
  /** Whether older webhooks of the partition wait, which a newer one must not overtake. */
  readonly isWaiting: (partition: Partition) => Promise<boolean>;
  #reader: Reader | null = null;
  #closed = false;
  #backlogs: readonly PartitionBacklog[] = [];
  readonly #draining = new Map<string, Promise<void>>();
  /** Partitions that received more webhooks while they were processed. */
  readonly #again = new Set<string>();
  /** Partitions during whose parsing a process ended. Their webhooks are parsed one by one, to find the one that caused it. */
  readonly #oneByOne = new Set<string>();
  readonly #reported = new Set<string>();

  /** The deferred webhooks, as of a few seconds ago. */
  readonly backlogs = (): readonly PartitionBacklog[] => this.#backlogs;

  constructor(sql: Sql, options: DeferredOptions) {
    this.#sql = sql;
    this.#options = options;
    const onError = (error: unknown) => options.log.warn("failed to list deferred webhooks", { error });
    this.#sweeps = startLoop({ everyMs: sweepMs, run: () => this.#sweep(), onError });
    this.isWaiting = batch(
      async (partitions: Partition[]) => {
        const found = new Set((await findWaiting(sql, partitions)).map(keyOf));
        return partitions.map((partition) => found.has(keyOf(partition)));
      },
      { maxItems: 100, concurrency: 1 },
    );
  }

  /** Resolves once the webhook is durable. Returns the id that its event will have. */
  async add(webhook: Omit<NewDeferred, "id">): Promise<string> {
    const id = newId();
    await insertDeferred(this.#sql, { id, ...webhook });
    // The plugin may have returned just before the webhook was stored.
    this.#drain(webhook);
    return id;
  }

  /** Starts reading. */
  open(reader: Reader): void {
    this.#reader = reader;
  }

  /** Called when a plugin is running again. */
  wake(plugin: string): void {
    backlogs(this.#sql)
      .then((all) => {
        for (const partition of all) if (partition.plugin === plugin) this.#drain(partition);
      })
      .catch((error) => this.#options.log.warn("failed to list deferred webhooks", { error }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#sweeps.stop(), ...this.#draining.values()]);
  }

  #drain(partition: Partition): void {
    const key = keyOf(partition);
    if (this.#draining.has(key)) this.#again.add(key);
    if (this.#closed || !this.#reader || this.#draining.has(key) || !this.#reader.serves(partition.plugin)) return;
    const state = { closed: () => this.#closed, oneByOne: () => this.#oneByOne.has(key) };
    const run = readAll(this.#sql, partition, this.#reader, state)
      .then(() => void this.#oneByOne.delete(key))
      .catch((error) => {
        this.#again.delete(key);
        if (error instanceof PluginUnavailable && error.duringCall) this.#oneByOne.add(key);
        if (error instanceof PluginUnavailable) return;
        this.#options.log.warn("failed to read deferred webhooks", { plugin: partition.plugin, slug: partition.slug, error });
      })
      .finally(() => {
        this.#draining.delete(key);
        if (this.#again.delete(key)) this.#drain(partition);
      });
    this.#draining.set(key, run);
  }

  async #sweep(): Promise<void> {
    this.#backlogs = await backlogs(this.#sql);
    this.#report();
    if (this.#backlogs.length === 0 || !this.#reader) return;
    await expire(this.#sql, this.#reader, this.#options);
    for (const partition of this.#backlogs) this.#drain(partition);
  }

  /** Reports each partition once while its oldest webhook is late. */
  #report(): void {
    const { ttl, alarm } = this.#options;
    const lateMs = Math.min(reportAfter, ttl / 2) * 1000;
    const late = this.#backlogs.filter(({ oldest_at }) => Date.now() - Date.parse(oldest_at) > lateMs);
    for (const { plugin, slug, count, oldest_at } of late)
      if (!this.#reported.has(keyOf({ plugin, slug })))
        alarm("webhooks are waiting for their plugin to run", { plugin, slug, count, oldest_at });
    this.#reported.clear();
    for (const partition of late) this.#reported.add(keyOf(partition));
  }
}

interface State {
  closed(): boolean;
  oneByOne(): boolean;
}

/** Processes a partition until no webhook waits. Throws the error of the first webhook that could not be parsed. */
async function readAll(sql: Sql, partition: Partition, reader: Reader, { closed, oneByOne }: State): Promise<void> {
  for (;;) {
    const rows = closed() ? [] : await claimDeferred(sql, partition, oneByOne() ? 1 : concurrency);
    if (rows.length === 0) return;
    // A webhook during whose parsing a process ended before is parsed alone, so that only its own attempts are counted.
    const portion = rows.length > 1 && rows.some(({ attempts }) => attempts > 0) ? rows.slice(0, 1) : rows;
    const results = await Promise.allSettled(readInOrder(portion, reader));
    const at = results.findIndex(({ status }) => status === "rejected");
    const done = at < 0 ? portion.length : at;
    await deleteDeferred(sql, idsOf(rows.slice(0, done)));
    const rest = idsOf(rows.slice(done));
    if (at < 0) {
      if (rest.length > 0) await releaseDeferred(sql, rest, null, null);
      continue;
    }
    const error: unknown = (results[at] as PromiseRejectedResult).reason;
    const failed = error instanceof PluginUnavailable && error.duringCall && portion.length === 1 ? (rest[0] ?? null) : null;
    await releaseDeferred(sql, rest, failed, storableText(messageOf(error)));
    throw error;
  }
}

/** Parses concurrently. Each event is stored after the previous one, or not at all if that one failed. */
const readInOrder = (rows: readonly DeferredRow[], { read }: Reader): Promise<void>[] =>
  runInOrder(rows, (row, inOrder) => read(row, { last: row.attempts + 1 >= maxAttempts, inOrder }));

/** A webhook that waited too long becomes a discarded event that says why. It can be replayed. */
async function expire(sql: Sql, { discard }: Reader, { ttl, alarm }: Pick<DeferredOptions, "ttl" | "alarm">): Promise<void> {
  const discardedCounts = new Map<string, number>();
  for (let rows = await claimExpired(sql, ttl, concurrency); rows.length > 0; rows = await claimExpired(sql, ttl, concurrency)) {
    for (const row of rows) {
      const error = row.last_error === null ? "" : `; last error: ${row.last_error}`;
      await discard(row, `the plugin ${row.plugin} did not start running within ${spanOf(ttl)}${error}`);
      await deleteDeferred(sql, [row.id]);
      discardedCounts.set(row.plugin, (discardedCounts.get(row.plugin) ?? 0) + 1);
    }
  }
  for (const [plugin, count] of discardedCounts)
    alarm("webhooks were discarded because their plugin was not running in time", { plugin, count });
}

const idsOf = (rows: readonly DeferredRow[]): string[] => rows.map(({ id }) => id);
const spanOf = (seconds: number): string =>
  seconds % 86_400 === 0 ? amountText(seconds / 86_400, "day") : amountText(seconds, "second");
