import { type Agent, findAgents } from "../agents/queries.ts";
import { batch } from "../database/batch.ts";
import type { Sql } from "../database/client.ts";
import { findTasks, type Task } from "../tasks/queries.ts";

/** Reads what runs need by id. Runs that start together share one query; nothing is remembered, so nothing is stale. */
export interface Lookup {
  task(id: string): Promise<Task | undefined>;
  agent(id: string): Promise<Agent | undefined>;
}

export function createLookup(sql: Sql, concurrency: number): Lookup {
  const options = { maxItems: 256, concurrency };
  return {
    task: batch((ids: string[]) => inOrder(ids, (unique) => findTasks(sql, unique)), options),
    agent: batch((ids: string[]) => inOrder(ids, (unique) => findAgents(sql, unique)), options),
  };
}

async function inOrder<T extends { id: string }>(
  ids: readonly string[],
  find: (ids: string[]) => Promise<T[]>,
): Promise<(T | undefined)[]> {
  const found = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
