import { readableItems, type UnreadableItem, valueAt } from "@signalbox/sdk";
import type { z } from "zod";
import type { Repository } from "./address.ts";
import type { Client } from "./client.ts";
import { pageOf } from "./paging.ts";
import { type Position, seconds } from "./poll-cursor.ts";
import * as shapes from "./shapes.ts";

export type Item = Readonly<Record<string, unknown>> & { readonly updated_at: string };
/** What the lists of one poll have in common. */
export interface PollContext {
  readonly client: Client;
  readonly repository: Repository;
  readonly signal: AbortSignal;
  /** What could not be read so far. */
  readonly unreadable: UnreadableItem[];
}
/** Pages per list and poll; the next poll continues from there. */
const maxPages = 20;

interface ListPart<T extends Item> {
  readonly items: readonly T[];
  readonly position: Position;
}

/** A list, with the shape of its items. */
interface List<T extends Item> {
  readonly path: string;
  readonly item: z.ZodType<T>;
  readonly fixed: Readonly<Record<string, string>>;
}

/**
 * Reads a list by time of change, from the position on. Pages are requested by time, not by number: an item that changes
 * meanwhile moves to the end of the list, and numbered pages would then skip its successor. After `maxPages`, the returned position
 * is where the next poll continues.
 */
export async function readList<T extends Item>(
  { client, repository, signal, unreadable }: PollContext,
  { path, item, fixed }: List<T>,
  start: Position,
): Promise<ListPart<T>> {
  const items: T[] = [];
  let position = start;
  for (let count = 0; count < maxPages; count++) {
    // One second earlier, because the platform may exclude the time itself; items already seen are skipped below.
    const query = { ...repository, ...fixed, since: seconds(position.at, -1), per_page: 100, page: position.page };
    const { data, link } = await client.read(`GET /repos/{owner}/{repo}/${path}`, query, shapes.listItems, signal);
    position = advance(position, readableItems(item, data, path, unreadable), items);
    if (pageOf(link, "next") === null) return { items, position: { ...position, from: position.at, page: 1 } };
  }
  return { items, position };
}

function advance<T extends Item>(position: Position, page: readonly T[], into: T[]): Position {
  let { at: newestTime, seen } = position;
  for (const item of page) {
    const time = seconds(item.updated_at);
    const name = nameOf(item);
    if (time < newestTime || (time === newestTime && seen.includes(name))) continue;
    if (time > newestTime) [newestTime, seen] = [time, []];
    seen = [...seen, name];
    into.push(item);
  }
  return { ...position, at: newestTime, seen, page: newestTime === position.at ? position.page + 1 : 1 };
}

/** Includes state and number of comments: an issue may be opened and closed within one second. */
const nameOf = (item: Item): string =>
  `${valueAt(item, "number") ?? valueAt(item, "id")}:${valueAt(item, "state") ?? ""}:${valueAt(item, "comments") ?? ""}`;
