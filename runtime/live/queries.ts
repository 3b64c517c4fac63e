import { type Execution, type Step, shortMembers, stepMembers } from "../executions/queries.ts";
import type { Queryable } from "../platform/database/client.ts";
import { type StoredStep, shownStep } from "../transcripts/stored-steps.ts";

/** Maximum number of executions that one query reads. */
const limit = 500;

/** Running executions, executions with an id greater than the given one, and further executions by their ids. */
export const listLive = (sql: Queryable, after: string, ids: readonly string[]): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions where id in (
      (select id from task_executions where state = 'running' order by id desc limit ${limit})
      union (select id from task_executions where id > ${after} order by id limit ${limit})
      union select unnest(${ids as string[]}::uuid[]))
    order by id`;

/** Executions that ended after a time, among those with an id greater than the given one. */
export const listEndedSince = (sql: Queryable, since: string, after: string): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions
    where id > ${after} and finished_at > ${since} order by id desc limit ${limit}`;

export type LiveStep = Step & { readonly execution_id: string };

/** The steps of some executions, starting at a number. */
export async function listStepsOf(sql: Queryable, ids: readonly string[], fromSeq: number): Promise<LiveStep[]> {
  const rows = await sql<StoredStep<LiveStep>[]>`
    select execution_id, ${stepMembers(sql)} from execution_steps
    where execution_id = any(${ids as string[]}::uuid[]) and seq >= ${fromSeq} order by execution_id, seq`;
  return rows.map((row) => shownStep(row));
}
