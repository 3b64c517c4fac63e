import type { Sql } from "../platform/database/client.ts";
import { storable } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { ReportGroups } from "./groups.ts";
import { addToEntry, insertEntry, type WatchdogLevel } from "./queries.ts";

/**
 * Reports events that an operator should know about. Always logs them, and stores an entry if `WATCHDOG_ENABLED`. Never throws or
 * delays its caller.
 */
type Watchdog = (level: WatchdogLevel, message: string, context?: Record<string, unknown>) => void;

/** Repetitions within this time only increase the count of the first entry, in milliseconds. */
const repeatMs = 60_000;
/** Interval at which counts are stored, in milliseconds. */
const flushMs = 1_000;

/** Reports with a reason are grouped, because strangers can cause them at will: see `ReportGroups`. */
export function createWatchdog(sql: Sql, log: Log, enabled: boolean): Watchdog {
  const groups = new ReportGroups();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failed = (error: unknown) => {
    log.warn("failed to store a watchdog entry", { error });
    return null;
  };
  const store = async (level: WatchdogLevel, message: string, context: Record<string, unknown>) =>
    enabled ? insertEntry(sql, level, storable(message), storable(context)).catch(failed) : null;
  const flush = async () => {
    for (const [key, group] of groups.all()) {
      if (group.count > group.stored) {
        group.stored = group.count;
        const id = await group.entry;
        if (id !== null) await addToEntry(sql, id, group.count).catch(failed);
      }
      if (group.until > Date.now()) continue;
      groups.remove(key, group);
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
    if (context.reason === undefined) {
      log[level](message, context);
      void store(level, message, context);
      return;
    }
    const { id, context: shown, countedAs } = groups.placeOf(level, message, context);
    const group = groups.get(id);
    if (group) {
      group.count++;
      return;
    }
    log[level](message, shown);
    const entry = store(level, message, shown);
    groups.add(id, { countedAs, level, message, context: shown, until: Date.now() + repeatMs, entry, count: 1, stored: 1 });
    schedule();
  };
}
