import type { Json } from "@signalbox/sdk";
import { batch } from "../../platform/database/batch.ts";
import type { Sql } from "../../platform/database/client.ts";
import { newId } from "../../platform/ids.ts";
import { storableText } from "../../platform/json.ts";
import type { Log } from "../../platform/log.ts";
import type { InOrder } from "../dispatch.ts";
import { PluginUnavailable } from "../plugin-unavailable.ts";
import {
  claimDeferred,
  claimExpired,
  type DeferredRow,
  deleteDeferred,
  findWaiting,
  insertDeferred,
  type NewDeferred,
  type Partition,
  releaseDeferred,
  type WaitingPartition,
  waitingPartitions,
} from "./queries.ts";

/** Webhooks whose plugin was away when they came in: kept as they came, read in that order when it is back. */
export interface DeferredWebhooks {
  /** Resolves once it is durable; answers the id of the event that it becomes. */
  add(webhook: Omit<NewDeferred, "id">): Promise<string>;
  /** Whether older ones wait, which a newer one must not overtake. */
  isWaiting(lane: Partition): Promise<boolean>;
  /** Starts reading. */
  open(reader: Reader): void;
  /** A plugin serves again. */
  wake(plugin: string): void;
  /** What waited when it was looked at last, a few seconds ago at most. */
  waiting(): readonly WaitingPartition[];
  close(): Promise<void>;
}
export interface Reader {
  /** Reads one, and stores its event under this id. `last`: what cannot be read now is stored as unreadable. Throws a `PluginAway`. */
  read(row: DeferredRow, payload: Json, how: { last: boolean; inTurn: InOrder }): Promise<void>;
  /** Stores its event as discarded, for this reason. */
  discard(row: DeferredRow, reason: string): Promise<void>;
  /** Whether the plugin can be asked here. */
  serves(plugin: string): boolean;
}
export interface DeferredOptions {
  /** How long a webhook waits, seconds. */
  readonly ttl: number;
  readonly log: Log;
  readonly alarm: (message: string, context: Record<string, unknown>) => void;
}

/** Read at the same time, and stored one after the other. */
const atOnce = 20;
const mostAttempts = 5;
const sweepMs = 5_000;
/** An operator is told of what waits longer, seconds. */
const patience = 300;

const keyOf = ({ plugin, slug }: Partition) => JSON.stringify([plugin, slug]);

export function createDeferred(sql: Sql, { ttl, log, alarm }: DeferredOptions): DeferredWebhooks {
  let reader: Reader | null = null;
  let closed = false;
  let lanes: readonly WaitingPartition[] = [];
  const draining = new Map<string, Promise<void>>();
  /** Lanes that got more while they were read. */
  const more = new Set<string>();
  /** Lanes over which a process ended, which are read one by one until nothing waits: which one it was, nobody knows. */
  const careful = new Set<string>();
  const told = new Set<string>();

  const drain = (lane: Partition) => {
    const key = keyOf(lane);
    if (draining.has(key)) more.add(key);
    if (closed || !reader || draining.has(key) || !reader.serves(lane.plugin)) return;
    const run = readAll(sql, lane, reader, { closed: () => closed, careful: () => careful.has(key) })
      .then(() => void careful.delete(key))
      .catch((error) => {
        more.delete(key);
        if (error instanceof PluginUnavailable && error.duringCall) careful.add(key);
        if (!(error instanceof PluginUnavailable)) log.warn("webhooks that wait for a plugin were not read", { ...lane, error });
      })
      .finally(() => {
        draining.delete(key);
        if (more.delete(key)) drain(lane);
      });
    draining.set(key, run);
  };
  const tell = () => {
    const late = lanes.filter(({ oldest_at }) => Date.now() - Date.parse(oldest_at) > Math.min(patience, ttl / 2) * 1000);
    for (const { plugin, slug, count, oldest_at } of late)
      if (!told.has(keyOf({ plugin, slug }))) alarm("webhooks wait for a plugin", { plugin, slug, count, oldest_at });
    told.clear();
    for (const lane of late) told.add(keyOf(lane));
  };
  const sweep = async () => {
    lanes = await waitingPartitions(sql);
    tell();
    if (lanes.length === 0 || !reader) return;
    await expire(sql, reader, { ttl, alarm });
    for (const lane of lanes) drain(lane);
  };
  let sweeping: Promise<void> | null = null;
  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((error) => log.warn("waiting webhooks not looked for", { error }))
      .finally(() => {
        sweeping = null;
      });
  }, sweepMs);
  const isWaiting = batch(
    async (asked: Partition[]) => {
      const found = new Set((await findWaiting(sql, asked)).map(keyOf));
      return asked.map((lane) => found.has(keyOf(lane)));
    },
    { maxItems: 100, concurrency: 1 },
  );
  return {
    isWaiting,
    add: async (webhook) => {
      const id = newId();
      await insertDeferred(sql, { id, ...webhook });
      // The plugin may have come back in the moment before it was stored.
      drain(webhook);
      return id;
    },
    open: (given) => {
      reader = given;
    },
    wake: (plugin) => {
      waitingPartitions(sql)
        .then((all) => all.filter((lane) => lane.plugin === plugin).forEach(drain))
        .catch((error) => log.warn("waiting webhooks not looked for", { error }));
    },
    waiting: () => lanes,
    close: async () => {
      closed = true;
      clearInterval(timer);
      await Promise.all([sweeping, ...draining.values()]);
    },
  };
}

interface State {
  closed(): boolean;
  careful(): boolean;
}

/** Reads a lane until nothing waits. Throws what the first that could not be read failed with. */
async function readAll(sql: Sql, lane: Partition, reader: Reader, { closed, careful }: State): Promise<void> {
  for (;;) {
    const rows = closed() ? [] : await claimDeferred(sql, lane, careful() ? 1 : atOnce);
    if (rows.length === 0) return;
    // One over which a process ended before is read alone, so that it alone is counted.
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
    await releaseDeferred(sql, rest, failed, storableText(error instanceof Error ? error.message : String(error)));
    throw error;
  }
}

/** At the same time; each is handed on after the one before, and not at all where that one failed. */
function readInOrder(rows: readonly DeferredRow[], { read }: Reader): Promise<void>[] {
  let before: Promise<void> = Promise.resolve();
  return rows.map(async (row) => {
    const turn = before;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    before = promise;
    const inTurn: InOrder = async (hand) => {
      await turn;
      const handed = hand();
      resolve();
      return handed;
    };
    try {
      const payload = JSON.parse(Buffer.from(row.body).toString("utf8")) as Json;
      await read(row, payload, { last: row.attempts + 1 >= mostAttempts, inTurn });
      resolve();
    } catch (error) {
      reject(error);
      throw error;
    }
  });
}

/** What waited too long gets its event all the same, and says why it was not read: it can be replayed. */
async function expire(sql: Sql, { discard }: Reader, { ttl, alarm }: Pick<DeferredOptions, "ttl" | "alarm">): Promise<void> {
  const discarded = new Map<string, number>();
  for (let rows = await claimExpired(sql, ttl, atOnce); rows.length > 0; rows = await claimExpired(sql, ttl, atOnce)) {
    for (const row of rows) {
      const error = row.last_error === null ? "" : `; the last try: ${row.last_error}`;
      await discard(row, `the plugin ${row.plugin} did not read it within ${spanOf(ttl)}${error}`);
      await deleteDeferred(sql, [row.id]);
      discarded.set(row.plugin, (discarded.get(row.plugin) ?? 0) + 1);
    }
  }
  for (const [plugin, count] of discarded)
    alarm("webhooks were discarded, because their plugin did not read them", { plugin, count });
}

const idsOf = (rows: readonly DeferredRow[]): string[] => rows.map(({ id }) => id);
const spanOf = (seconds: number): string => (seconds % 86_400 === 0 ? `${seconds / 86_400} days` : `${seconds} seconds`);
