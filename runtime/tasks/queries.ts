import type { Input, Output } from "@signalbox/schema/operation";
import type { create, get, update } from "@signalbox/schema/tasks";
import { databaseInstant } from "../platform/clock.ts";
import type { Queryable } from "../platform/database/client.ts";

export type Task = Output<typeof get>;

const columns = (sql: Queryable) =>
  sql`id, name, description, actor_id, actor_fallback, required_capabilities, created_at, updated_at`;

export async function listTasks(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: Task[]; total: number }> {
  const items = await sql<
    Task[]
  >`select ${columns(sql)} from tasks order by created_at, id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from tasks`;
  return { items, total: count.total };
}

export async function findTask(sql: Queryable, id: string): Promise<Task | undefined> {
  const [task] = await sql<Task[]>`select ${columns(sql)} from tasks where id = ${id}`;
  return task;
}

export const findTasks = (sql: Queryable, ids: readonly string[]): Promise<Task[]> =>
  sql<
    Task[]
  >`select ${columns(sql)} from tasks where id = any(${ids as string[]}) order by array_position(${ids as string[]}, id)`;

/** Returns `undefined` if the id is taken. */
export async function insertTask(sql: Queryable, task: Input<typeof create>): Promise<Task | undefined> {
  const [row] = await sql<Task[]>`insert into tasks ${sql(task)} on conflict (id) do nothing returning ${columns(sql)}`;
  return row;
}

export async function updateTask(
  sql: Queryable,
  id: string,
  change: Omit<Input<typeof update>, "id">,
): Promise<Task | undefined> {
  const [row] = await sql<Task[]>`
    update tasks set ${sql({ ...change, updated_at: databaseInstant() })} where id = ${id} returning ${columns(sql)}`;
  return row;
}

export async function deleteTask(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`delete from tasks where id = ${id}`).count > 0;
}
