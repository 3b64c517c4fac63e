import type { Sql } from "../platform/database/client.ts";
import { storable } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { isPrivate, networkOf } from "../platform/network/networks.ts";
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
/** Maximum number of different reports that are grouped at the same time, because strangers choose some of their members. */
const maxGroups = 1_000;
/**
 * Maximum number of callers whose reports with one message are grouped separately, because strangers can have any number of them.
 * Those of as many further networks are grouped by network. So strangers need hours to displace all other entries.
 */
const maxCallers = 20;
/** The same for the callers of one public network, because a stranger can invent keys and has many IPv6 addresses. */
const maxKeys = 5;

interface Group {
  /** What `callers` counts it as. */
  readonly countedAs: readonly string[];
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
 * and one entry per minute, with a count. A stranger with many keys, or with many addresses of a network, cannot hide the address of
 * another caller. A stranger with 20 networks or more can.
 */
export function createWatchdog(sql: Sql, log: Log, enabled: boolean): Watchdog {
  const groups = new Map<string, Group>();
  const callers = new Map<string, number>();
  const countOf = (counted: string) => callers.get(counted) ?? 0;
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
      for (const counted of group.countedAs) {
        const count = countOf(counted) - 1;
        if (count > 0) callers.set(counted, count);
        else callers.delete(counted);
      }
      if (group.count > 1) log[group.level](`${group.message} (repeated)`, { ...group.context, count: group.count });
    }
    timer = undefined;
    if (groups.size > 0) schedule();
  };
  const schedule = () => {
    timer ??= setTimeout(() => void flush(), flushMs);
    timer.unref();
  };
  /** The group of a report: that of its caller, or if there are too many, that of its network, or that of its kind. */
  const placeOf = (level: WatchdogLevel, message: string, context: Record<string, unknown>): Place => {
    const { key, address, ...rest } = context;
    const kind = JSON.stringify([level, message, context.source, context.reason]);
    const ofMessage = JSON.stringify([level, message]);
    const network = typeof address === "string" ? networkOf(address) : null;
    const ofNetwork = JSON.stringify([kind, network]);
    const ownId = JSON.stringify([kind, key, address]);
    const isFull = groups.size >= maxGroups;
    // Behind a proxy that is not trusted, all callers have its address.
    const maxOfNetwork = network !== null && isPrivate(address as string) ? maxCallers : maxKeys;
    const isFirst = !isFull && countOf(ofMessage) < maxCallers && countOf(ofNetwork) < maxOfNetwork;
    if (groups.has(ownId) || isFirst) return { id: ownId, context, countedAs: [ofMessage, ofNetwork] };
    const isNetworkFull = countOf(ofNetwork) >= maxOfNetwork;
    const callers = (first: string) => `others than the first ${first} within a minute`;
    if (network !== null && (groups.has(ofNetwork) || (!isFull && countOf(ofMessage) < 2 * maxCallers)))
      return {
        id: ofNetwork,
        context: {
          ...rest,
          address: network,
          callers: callers(isNetworkFull ? `${maxOfNetwork} of this network` : String(maxCallers)),
        },
        countedAs: [ofMessage],
      };
    // If there are too many kinds, those with the same message share a group.
    const id = isFull && !groups.has(kind) ? ofMessage : kind;
    const isOfCaller = key !== undefined || address !== undefined;
    return { id, context: isOfCaller ? { ...rest, callers: callers(String(maxCallers)) } : rest, countedAs: [] };
  };
  return (level, message, context = {}) => {
    if (context.reason === undefined) {
      log[level](message, context);
      void store(level, message, context);
      return;
    }
    const { id, context: shown, countedAs } = placeOf(level, message, context);
    const group = groups.get(id);
    if (group) {
      group.count++;
      return;
    }
    log[level](message, shown);
    const entry = store(level, message, shown);
    groups.set(id, { countedAs, level, message, context: shown, until: Date.now() + repeatMs, entry, count: 1, stored: 1 });
    for (const counted of countedAs) callers.set(counted, countOf(counted) + 1);
    schedule();
  };
}

interface Place {
  readonly id: string;
  readonly context: Record<string, unknown>;
  readonly countedAs: readonly string[];
}
