import { valueAt } from "@signalbox/sdk";
import type { Repository } from "./address.ts";
import type { Client } from "./client.ts";
import { pageOf } from "./paging.ts";
import { type Position, seconds } from "./poll-cursor.ts";
import * as shapes from "./shapes.ts";

export type Item = Readonly<Record<string, unknown>> & { readonly updated_at: string };
export interface Budget {
  requests: number;
}
interface ListPart {
  readonly items: readonly Item[];
  readonly position: Position;
}

/**
 * Reads a list by time of change, from the position on. Pages are requested by time, not by number: an item that changes
 * meanwhile moves to the end of the list, and numbered pages would then skip its successor. If the budget runs out, the
 * returned position is where the next poll continues.
 */
export async function readList(
  client: Client,
  route: string,
  repository: Repository,
  fixed: Readonly<Record<string, string>>,
  start: Position,
  budget: Budget,
  signal: AbortSignal,
): Promise<ListPart> {
  const items: Item[] = [];
  let position = start;
  while (budget.requests > 0) {
    budget.requests -= 1;
    // One second earlier, because the platform may exclude the time itself; items already seen are skipped below.
    const query = { ...repository, ...fixed, since: seconds(position.at, -1), per_page: 100, page: position.page };
    const { data, link } = await client.read(`GET ${route}`, query, shapes.listItems, signal);
    position = advance(position, data, items);
    if (pageOf(link, "next") === null) return { items, position: { ...position, from: position.at, page: 1 } };
  }
  return { items, position };
}

function advance(position: Position, page: readonly Item[], into: Item[]): Position {
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
