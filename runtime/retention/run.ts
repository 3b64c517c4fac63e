import { databaseTime } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { holdLease } from "../platform/lease-queries.ts";
import type { Log } from "../platform/log.ts";
import { startLoop } from "../platform/loop.ts";
import { sleep } from "../platform/retry.ts";
import { daysToSum, sumDay } from "../usage/queries.ts";
import { forgetCancelled } from "./erase-queries.ts";
import {
  type Portion,
  removeAttempts,
  removeAuditEntries,
  removeBodies,
  removeHistory,
  removeRefused,
  removeTranscripts,
  removeUnattachedSteps,
  removeWatchdogEntries,
  sampleSizes,
} from "./queries.ts";
import { cutoffs, type RetentionDays, watchdogRows } from "./rules.ts";

interface RetentionOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly days: RetentionDays;
  /** The embedded database has one session, so portions are small and no request waits long. */
  readonly embedded: boolean;
  /** Milliseconds between two passes, and before the first one. */
  readonly everyMs?: number;
  readonly firstMs?: number;
}

interface Retention {
  /** When the last pass ended, and why it failed; `null` before the first one. */
  readonly last: () => { readonly at: string; readonly error: string | null } | null;
  stop(): Promise<void>;
}

const hourMs = 3_600_000;
const leaseSeconds = 60;
/** After each portion, the pass pauses for as long as the portion took, and at least for this long, in milliseconds. */
const pauseMs = 20;

/** Sums the usage of past days and removes data that is older than its period, on one replica at a time. */
export function startRetention(options: RetentionOptions): Retention {
  const { sql, log, everyMs = hourMs, firstMs = 10_000 } = options;
  const holder = newId();
  let last: { at: string; error: string | null } | null = null;
  const run = async (stopSignal: AbortSignal) => {
    if (!(await holdLease(sql, "retention", holder, leaseSeconds))) return;
    const removed = await pass(options, holder, stopSignal);
    last = { at: new Date().toISOString(), error: null };
    if (Object.values(removed).some((count) => count > 0)) log.info("retention removed expired data", removed);
  };
  const onError = (error: unknown) => {
    last = { at: new Date().toISOString(), error: String(error) };
    log.warn("retention failed; retrying in an hour", { error });
  };
  const loop = startLoop({ everyMs, firstMs, run, onError });
  return { last: () => last, stop: loop.stop };
}

/** One pass over all tables. Returns the number of removed rows by kind. */
export async function pass(options: RetentionOptions, holder: string, signal: AbortSignal): Promise<Record<string, number>> {
  const { sql, embedded, days } = options;
  const limit = embedded ? 100 : 1000;
  const { bodies, discarded, refused, transcripts, history, audit, watchdog } = cutoffs(days, databaseTime());
  for (const day of await daysToSum(sql)) {
    signal.throwIfAborted();
    await sumDay(sql, day);
  }
  await sampleSizes(sql);
  await forgetCancelled(sql, []);
  const portions = (remove: (after: string | null) => Promise<Portion>) => inPortions(remove, sql, holder, signal);
  const countRemoved = (remove: () => Promise<number>) =>
    portions(async () => {
      const changed = await remove();
      return { changed, last: changed === limit ? "" : null };
    });
  return {
    events: await portions((after) => removeHistory(sql, after, history, limit)),
    bodies: await portions((after) => removeBodies(sql, after, { before: bodies, discardedBefore: discarded }, limit)),
    refused: await countRemoved(() => removeRefused(sql, refused, limit)),
    transcripts: await portions((after) => removeTranscripts(sql, after, transcripts, limit)),
    tool_calls: await countRemoved(() => removeUnattachedSteps(sql, transcripts, limit)),
    attempts: await countRemoved(() => removeAttempts(sql, history, limit)),
    audit_entries: await countRemoved(() => removeAuditEntries(sql, audit, limit)),
    watchdog_entries: await countRemoved(() => removeWatchdogEntries(sql, watchdog, watchdogRows, limit)),
  };
}

async function inPortions(
  remove: (after: string | null) => Promise<Portion>,
  sql: Sql,
  holder: string,
  signal: AbortSignal,
): Promise<number> {
  let changed = 0;
  for (let after: string | null = null; ; ) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const portion = await remove(after);
    changed += portion.changed;
    if (portion.last === null) return changed;
    after = portion.last;
    await sleep(Math.max(pauseMs, performance.now() - startedAt), signal);
    if (!(await holdLease(sql, "retention", holder, leaseSeconds))) throw new Error("another replica took over retention");
  }
}
