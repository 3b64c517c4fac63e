import type { executions } from "@signalbox/schema/bulk";
import type { Input } from "@signalbox/schema/operation";
import type { Fragment, Queryable } from "../platform/database/client.ts";
import { readBounds } from "../platform/database/history-page.ts";
import { type Execution, finishedWithin, shortMembers } from "./queries.ts";

type BulkAction = Input<typeof executions>["action"];
type BulkFilter = Omit<Input<typeof executions>["filter"], "subject"> & {
  /** Stored subjects; absent: all. */
  readonly subjects?: readonly string[] | undefined;
};

/** The condition of the executions to which each action applies, written so that a partial index is used. */
const states: Readonly<Record<BulkAction, string>> = {
  restart: "state = 'failed' and transcript_removed_at is null",
  cancel: "state in ('queued', 'held', 'running', 'waiting') and state <> 'succeeded'",
  release: "state = 'held'",
  approve: "state = 'waiting' and state <> 'succeeded'",
  reject: "state = 'waiting' and state <> 'succeeded'",
};

/** Selects the executions of one bulk action. */
export interface BulkSelection {
  readonly action: BulkAction;
  readonly filter: BulkFilter;
  /** Excludes executions with a greater id. */
  readonly upTo: string;
}

function matchesFilter(sql: Queryable, { action, filter, upTo }: BulkSelection): Fragment {
  const equal = (column: string, value: unknown) => (value === undefined ? sql`` : sql`and ${sql(column)} = ${value as string}`);
  const { subjects } = filter;
  return sql`${sql.unsafe(states[action])} and id <= ${upTo}::uuid
    ${equal("state", filter.state)} ${equal("task_id", filter.task_id)} ${equal("agent_id", filter.agent_id)}
    ${equal("project_id", filter.project_id)} ${equal("event_id", filter.event_id)} ${finishedWithin(sql, filter)}
    ${subjects ? sql`and subject = any(${subjects as string[]}::text[])` : sql``}
    ${readBounds(sql, { key: sql`id`, keyType: "uuid", time: sql`created_at`, text: sql`coalesce(error, held_reason)` }, filter)}`;
}

/** The number of matches, counted up to `most` + 1. */
export async function countSelected(sql: Queryable, selected: BulkSelection, most: number): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from (select 1 from task_executions where ${matchesFilter(sql, selected)} limit ${most + 1}) counted`;
  return row.count;
}

export const sampleSelected = (sql: Queryable, selected: BulkSelection, limit: number): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions where ${matchesFilter(sql, selected)} order by id desc limit ${limit}`;

/** Ids of the next matches after `after`, oldest first. */
export async function nextSelected(sql: Queryable, selected: BulkSelection, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from task_executions where ${matchesFilter(sql, selected)} and id > ${after}::uuid order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}
