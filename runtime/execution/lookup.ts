import { type Agent, findAgents } from "../agents/queries.ts";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { findTasks, type Task } from "../tasks/queries.ts";

/**
 * Reads tasks and agents by id; runs that start together share one query. `version` is the version of the row that the claim
 * returned. Each version is read once, so nothing is stale and no invalidation is needed.
 */
export interface Lookup {
  task(id: string, version: string | null): Promise<Task | undefined>;
  /** The agent's capabilities may be outdated, because they are separate rows. */
  agent(id: string, version: string | null): Promise<Agent | undefined>;
}

export function createLookup(sql: Sql, concurrency: number): Lookup {
  const options = { maxItems: 256, concurrency };
  return {
    task: cachedByVersion(batch((ids: string[]) => inOrder(ids, (unique) => findTasks(sql, unique)), options)),
    agent: cachedByVersion(batch((ids: string[]) => inOrder(ids, (unique) => findAgents(sql, unique)), options)),
  };
}

const maxCached = 1_000;

function cachedByVersion<T>(read: (id: string) => Promise<T | undefined>) {
  const cache = new Map<string, { version: string; row: T }>();
  return async (id: string, version: string | null): Promise<T | undefined> => {
    const before = cache.get(id);
    if (before && before.version === version) return before.row;
    const row = await read(id);
    // The row may have a later version already. The next claim then returns that version, and the row is read again.
    if (row && version !== null) {
      if (cache.size >= maxCached) cache.clear();
      cache.set(id, { version, row });
    }
    return row;
  };
}

async function inOrder<T extends { id: string }>(
  ids: readonly string[],
  find: (ids: string[]) => Promise<T[]>,
): Promise<(T | undefined)[]> {
  const byId = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id));
}
