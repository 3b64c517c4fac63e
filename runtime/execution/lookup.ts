import { type Agent, findAgents } from "../agents/queries.ts";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { findTasks, type Task } from "../tasks/queries.ts";

/**
 * Reads what runs need by id; runs that start together share one query. `version` is what the claim said of the row: what was
 * read of that version is not read again. So nothing is stale, and nobody needs to be told of changes.
 */
export interface Lookup {
  task(id: string, version: string | null): Promise<Task | undefined>;
  /** Its capabilities may be of before: they are rows of their own. */
  agent(id: string, version: string | null): Promise<Agent | undefined>;
}

export function createLookup(sql: Sql, concurrency: number): Lookup {
  const options = { maxItems: 256, concurrency };
  return {
    task: remembered(batch((ids: string[]) => inOrder(ids, (unique) => findTasks(sql, unique)), options)),
    agent: remembered(batch((ids: string[]) => inOrder(ids, (unique) => findAgents(sql, unique)), options)),
  };
}

const mostRemembered = 1_000;

function remembered<T>(read: (id: string) => Promise<T | undefined>) {
  const known = new Map<string, { version: string; row: T }>();
  return async (id: string, version: string | null): Promise<T | undefined> => {
    const before = known.get(id);
    if (before && before.version === version) return before.row;
    const row = await read(id);
    // It may be a later one already: then the next claim says so, and it is read once more.
    if (row && version !== null) {
      if (known.size >= mostRemembered) known.clear();
      known.set(id, { version, row });
    }
    return row;
  };
}

async function inOrder<T extends { id: string }>(
  ids: readonly string[],
  find: (ids: string[]) => Promise<T[]>,
): Promise<(T | undefined)[]> {
  const found = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
