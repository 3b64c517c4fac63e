import { type Execution, type Step, shortMembers, stepMembers } from "../executions/queries.ts";
import type { Queryable } from "../platform/database/client.ts";
import { type Stored, withInput } from "../transcripts/packed-input.ts";

/** Most executions that one look reads. */
const limit = 500;

/** Running executions, those younger than an id, and further ones by their ids. */
export const listLive = (sql: Queryable, after: string, ids: readonly string[]): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions where id in (
      (select id from task_executions where state = 'running' order by id desc limit ${limit})
      union (select id from task_executions where id > ${after} order by id limit ${limit})
      union select unnest(${ids as string[]}::uuid[]))
    order by id`;

/** Executions that ended after a time, among those younger than an id. */
export const listEndedSince = (sql: Queryable, since: string, after: string): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions
    where id > ${after} and finished_at > ${since} order by id desc limit ${limit}`;

export type LiveStep = Step & { readonly execution_id: string };

/** Steps of some executions from a number on. */
export async function listStepsOf(sql: Queryable, ids: readonly string[], fromSeq: number): Promise<LiveStep[]> {
  const rows = await sql<Stored<LiveStep>[]>`
    select execution_id, ${stepMembers(sql)} from execution_steps
    where execution_id = any(${ids as string[]}::uuid[]) and seq >= ${fromSeq} order by execution_id, seq`;
  return rows.map(withInput);
}
