import type { Sql } from "../platform/database/client.ts";
import { storable } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { addToEntry, insertEntry, type WatchdogLevel } from "./queries.ts";

/**
 * Reports events that an operator should know about. Always logs them, and stores an entry if `WATCHDOG_ENABLED`. Never throws or
 * delays its caller.
 */
export type Watchdog = (level: WatchdogLevel, message: string, context?: Record<string, unknown>) => void;

/** Repetitions within this time only increase the count of the first entry, in milliseconds. */
const repeatMs = 60_000;
/** Interval at which counts are stored, in milliseconds. */
const flushMs = 1_000;
/** Maximum number of different reports that are grouped at the same time, because strangers choose some of their members. */
const maxGroups = 1_000;
/** Maximum number of callers whose reports of one kind are grouped separately, because strangers can have any number of them. */
const maxCallers = 100;

interface Group {
  /** The level, message, source and reason. */
  readonly kind: string;
  readonly level: WatchdogLevel;
  readonly message: string;
  readonly context: Record<string, unknown>;
  readonly until: number;
  /** Id of the stored entry; `null` if none is stored. */
  readonly entry: Promise<number | null>;
  count: number;
  stored: number;
}

/**
 * Reports that strangers can cause at will are grouped by message, source, reason and caller (`key` and `address`): one log line
 * and one entry per minute, with a count.
 */
export function createWatchdog(sql: Sql, log: Log, enabled: boolean): Watchdog {
  const groups = new Map<string, Group>();
  const callers = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failed = (error: unknown) => {
    log.warn("failed to store a watchdog entry", { error });
    return null;
  };
  const store = async (level: WatchdogLevel, message: string, context: Record<string, unknown>) =>
    enabled ? insertEntry(sql, level, storable(message), storable(context)).catch(failed) : null;
  const flush = async () => {
    for (const [key, group] of groups) {
      if (group.count > group.stored) {
        group.stored = group.count;
        const id = await group.entry;
        if (id !== null) await addToEntry(sql, id, group.count).catch(failed);
      }
      if (group.until > Date.now()) continue;
      groups.delete(key);
      callers.set(group.kind, (callers.get(group.kind) ?? 1) - 1);
      if (callers.get(group.kind) === 0) callers.delete(group.kind);
      if (group.count > 1) log[group.level](`${group.message} (repeated)`, { ...group.context, count: group.count });
    }
    timer = undefined;
    if (groups.size > 0) schedule();
  };
  const schedule = () => {
    timer ??= setTimeout(() => void flush(), flushMs);
    timer.unref();
  };
  return (level, message, context = {}) => {
    const kind = JSON.stringify([level, message, context.source, context.reason]);
    const own = JSON.stringify([kind, context.key, context.address]);
    const isOwn = groups.has(own) || (callers.get(kind) ?? 0) < maxCallers;
    const isFull = groups.size >= maxGroups && !groups.has(isOwn ? own : kind);
    // If there are too many kinds, those with the same message share a group.
    const key = isFull ? JSON.stringify([level, message]) : isOwn ? own : kind;
    const group = context.reason === undefined ? undefined : groups.get(key);
    if (group) {
      group.count++;
      return;
    }
    const shown = isOwn && !isFull ? context : withoutCaller(context);
    log[level](message, shown);
    const entry = store(level, message, shown);
    if (context.reason === undefined) return;
    groups.set(key, { kind, level, message, context: shown, until: Date.now() + repeatMs, entry, count: 1, stored: 1 });
    callers.set(kind, (callers.get(kind) ?? 0) + 1);
    schedule();
  };
}

/** The context of a group of several callers. */
function withoutCaller({ key, address, ...context }: Record<string, unknown>) {
  return { ...context, callers: `others than the first ${maxCallers} within a minute` };
}
