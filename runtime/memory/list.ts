import type { MemoryFilter, StoredMemory } from "@signalbox/sdk";
import type { Log } from "../platform/log.ts";
import { type MemoryStores, withStore } from "./stores.ts";

export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Whether the list fails if one of the stores is unavailable. Default: it omits the memories of the short-term store. */
  readonly isComplete?: true;
}

/** One page of the memories of both stores, newest first. */
export async function listMemories(
  { stores, log }: { stores: MemoryStores; log: Log },
  filter: MemoryFilter,
  { isComplete, ...page }: Page,
): Promise<{ items: StoredMemory[]; total: number }> {
  const { longTerm, shortTerm } = stores;
  const wantsShort = filter.some(({ scope }) => scope === undefined || scope === "task");
  if (shortTerm === longTerm || !wantsShort) return withStore(longTerm, (backend) => backend.list(filter, page));
  const upTo = page.offset + page.limit;
  const shortTermPage = await withStore(shortTerm, (backend) => backend.list(filter, { limit: upTo, offset: 0 })).catch(
    (error) => {
      // Only the short-term store holds them.
      if (isComplete || filter.every(({ scope }) => scope === "task")) throw error;
      log.warn("short-term memories omitted from a list", { error: String(error) });
      return { items: [], total: 0 };
    },
  );
  // However the two lists interleave, at least this many long-term memories precede the page.
  const start = Math.max(0, page.offset - shortTermPage.items.length);
  const longTermPage = await withStore(longTerm, (backend) => backend.list(filter, { limit: upTo - start, offset: start }));
  const items = merge(shortTermPage.items, longTermPage.items, page.offset - start, page.limit);
  return { items, total: shortTermPage.total + longTermPage.total };
}

/** Merges two lists sorted newest first, skips `skip` entries and returns the next `limit`. */
export function merge<T extends Pick<StoredMemory, "created_at" | "id">>(
  a: readonly T[],
  b: readonly T[],
  skip: number,
  limit: number,
): T[] {
  const mergedItems: T[] = [];
  let i = 0;
  let j = 0;
  while (mergedItems.length < skip + limit && (i < a.length || j < b.length)) {
    const left = a[i];
    const right = b[j];
    if (left && (!right || newer(left, right))) {
      mergedItems.push(left);
      i++;
    } else if (right) {
      mergedItems.push(right);
      j++;
    }
  }
  return mergedItems.slice(skip);
}

const newer = (a: Pick<StoredMemory, "created_at" | "id">, b: Pick<StoredMemory, "created_at" | "id">): boolean =>
  a.created_at === b.created_at ? a.id > b.id : a.created_at > b.created_at;
