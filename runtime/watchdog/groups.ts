import { isPrivate, networkOf } from "../platform/network/networks.ts";
import type { WatchdogLevel } from "./queries.ts";

type Context = Record<string, unknown>;

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
  /** What the limits count it as. */
  readonly countedAs: readonly string[];
  readonly level: WatchdogLevel;
  readonly message: string;
  readonly context: Context;
  readonly until: number;
  /** Id of the stored entry; `null` if none is stored. */
  readonly entry: Promise<number | null>;
  count: number;
  stored: number;
}

/** Where a report belongs. */
interface Place {
  readonly id: string;
  readonly context: Context;
  readonly countedAs: readonly string[];
}

/**
 * Reports that strangers can cause at will are grouped by message, source, reason and caller (`key` and `address`): one log line
 * and one entry per minute, with a count. A stranger with many keys, or with many addresses of a network, cannot hide the address of
 * another caller. A stranger with 20 networks or more can.
 */
export class ReportGroups {
  readonly #groups = new Map<string, Group>();
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#groups.size;
  }

  all(): IterableIterator<[string, Group]> {
    return this.#groups.entries();
  }

  get(id: string): Group | undefined {
    return this.#groups.get(id);
  }

  add(id: string, group: Group): void {
    this.#groups.set(id, group);
    for (const counted of group.countedAs) this.#counts.set(counted, this.#count(counted) + 1);
  }

  remove(id: string, { countedAs }: Group): void {
    this.#groups.delete(id);
    for (const counted of countedAs) {
      const count = this.#count(counted) - 1;
      if (count > 0) this.#counts.set(counted, count);
      else this.#counts.delete(counted);
    }
  }

  /** The group of a report: that of its caller, or if there are too many, that of its network, or that of its kind. */
  placeOf(level: WatchdogLevel, message: string, context: Context): Place {
    const { key, address, ...rest } = context;
    const kind = JSON.stringify([level, message, context.source, context.reason]);
    const ofMessage = JSON.stringify([level, message]);
    const network = typeof address === "string" ? networkOf(address) : null;
    const ofNetwork = JSON.stringify([kind, network]);
    const ownId = JSON.stringify([kind, key, address]);
    const isFull = this.#groups.size >= maxGroups;
    // Behind a proxy that is not trusted, all callers have its address.
    const maxOfNetwork = network !== null && isPrivate(address as string) ? maxCallers : maxKeys;
    const isNetworkFull = this.#count(ofNetwork) >= maxOfNetwork;
    const isFirst = !isFull && this.#count(ofMessage) < maxCallers && !isNetworkFull;
    if (this.#groups.has(ownId) || isFirst) return { id: ownId, context, countedAs: [ofMessage, ofNetwork] };
    const callers = (first: string) => `others than the first ${first} within a minute`;
    if (network !== null && (this.#groups.has(ofNetwork) || (!isFull && this.#count(ofMessage) < 2 * maxCallers))) {
      const first = isNetworkFull ? `${maxOfNetwork} of this network` : String(maxCallers);
      return { id: ofNetwork, context: { ...rest, address: network, callers: callers(first) }, countedAs: [ofMessage] };
    }
    // If there are too many kinds, those with the same message share a group.
    const id = isFull && !this.#groups.has(kind) ? ofMessage : kind;
    const isOfCaller = key !== undefined || address !== undefined;
    return { id, context: isOfCaller ? { ...rest, callers: callers(String(maxCallers)) } : rest, countedAs: [] };
  }

  #count(counted: string): number {
    return this.#counts.get(counted) ?? 0;
  }
}
