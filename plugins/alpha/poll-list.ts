import { readableItems, type UnreadableItem, valueAt } from "@signalbox/sdk";
import type { z } from "zod";
import type { Repository } from "./address.ts";
import type { Client } from "./client.ts";
import { pageOf } from "./paging.ts";
import { type Position, seconds } from "./poll-cursor.ts";
import * as shapes from "./shapes.ts";

export type Item = Readonly<Record<string, unknown>> & { readonly updated_at: string };
export interface Budget {
  requests: number;
}
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
 * meanwhile moves to the end of the list, and numbered pages would then skip its successor. If the budget runs out, the
 * returned position is where the next poll continues.
 */
export async function readList<T extends Item>(
  client: Client,
  repository: Repository,
  { path, item, fixed }: List<T>,
  start: Position,
  budget: Budget,
  unreadable: UnreadableItem[],
  signal: AbortSignal,
): Promise<ListPart<T>> {
  const items: T[] = [];
  let position = start;
  while (budget.requests > 0) {
    budget.requests -= 1;
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
