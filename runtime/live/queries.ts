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

/** The same with all executions that have a greater id, in the order of their ids. After a burst, they are more than a query reads. */
export async function listAllLive(sql: Queryable, after: string, ids: readonly string[]): Promise<Execution[]> {
  const first = await listLive(sql, after, ids);
  const rowsById = new Map(first.map((row) => [row.id, row]));
  let part = first.filter(({ id }) => id > after).slice(0, limit);
  for (let last = part[limit - 1]; last; last = part[limit - 1]) {
    part = await sql<Execution[]>`
      select ${shortMembers(sql)} from task_executions where id > ${last.id} order by id limit ${limit}`;
    for (const row of part) rowsById.set(row.id, row);
  }
  return [...rowsById.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Executions that ended after a time, the last ones first, among those with an id greater than the given one. */
export const listEndedSince = (sql: Queryable, since: string, after: string): Promise<Execution[]> =>
  sql<Execution[]>`
    select ${shortMembers(sql)} from task_executions
    where id > ${after} and finished_at > ${since} order by finished_at desc limit ${limit}`;

export async function findLive(sql: Queryable, id: string): Promise<Execution | undefined> {
  const [execution] = await sql<Execution[]>`select ${shortMembers(sql)} from task_executions where id = ${id}`;
  return execution;
}

/** A step without its texts. */
export interface StepMark {
  readonly execution_id: string;
  readonly seq: number;
  readonly state: Step["state"];
  readonly error: string | null;
}

/** The steps of some executions, each from a number on. */
export const listMarks = (sql: Queryable, from: ReadonlyMap<string, number>): Promise<StepMark[]> =>
  sql<StepMark[]>`
    select s.execution_id, s.seq, s.state, s.error from execution_steps s
    join unnest(${[...from.keys()]}::uuid[], ${[...from.values()]}::int[]) as f (id, first) on s.execution_id = f.id and s.seq >= f.first
    order by s.execution_id, s.seq`;

/** The steps of some executions that changed at a time or later. */
export const listMarksSince = (sql: Queryable, ids: readonly string[], since: string): Promise<StepMark[]> =>
  sql<StepMark[]>`
    select execution_id, seq, state, error from execution_steps
    where execution_id = any(${ids as string[]}::uuid[])
      and (greatest(created_at, started_at, ended_at, decided_at) >= ${since} or (state = 'started' and error is not null))
    order by execution_id, seq`;

export type LiveStep = Step & { readonly execution_id: string };

/** Maximum number of steps that one query reads with their texts. */
const stepsPerRead = 50;

/** These steps with their texts, read in small parts: a transcript can be long, and a reader slow. `turn`: makes each read. */
export async function* readSteps(
  sql: Queryable,
  marks: readonly StepMark[],
  turn: <T>(read: () => Promise<T>) => Promise<T> = (read) => read(),
): AsyncGenerator<LiveStep> {
  for (let at = 0; at < marks.length; at += stepsPerRead) {
    const part = marks.slice(at, at + stepsPerRead);
    const [ids, numbers] = [part.map(({ execution_id }) => execution_id), part.map(({ seq }) => seq)];
    const rows = await turn(
      () => sql<StoredStep<LiveStep>[]>`
        select execution_id, ${stepMembers(sql)} from execution_steps
        where (execution_id, seq) in (select * from unnest(${ids}::uuid[], ${numbers}::int[])) order by execution_id, seq`,
    );
    for (const row of rows) yield shownStep(row);
  }
}
