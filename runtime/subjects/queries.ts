import type { Queryable } from "../platform/database/client.ts";

interface Found {
  readonly subject: string;
  readonly events: number;
  readonly last_event_at: string;
}

/** Those of the given subjects that have events. */
export const findSubjects = (sql: Queryable, subjects: readonly string[], limit: number): Promise<Found[]> =>
  sql<Found[]>`
    select subject, count(*) as events, max(received_at) as last_event_at from webhook_events
    where subject = any(${subjects as string[]}::text[]) group by subject order by last_event_at desc limit ${limit}`;

/** Events that a search by a part of the name reads, the newest. */
const maxSearched = 30_000;

const newest = (sql: Queryable) =>
  sql`select subject, received_at from webhook_events where subject is not null order by id desc limit ${maxSearched}`;

/** Subjects of the newest events whose name contains each of the words, or ends with it if it ends with a number, as `webshop#4`. */
export function searchSubjects(sql: Queryable, words: readonly string[], limit: number): Promise<Found[]> {
  const patterns = words.map((word) => `%${word.replace(/[\\%_]/g, "\\$&")}${/[#!]\d+$/.test(word) ? "" : "%"}`);
  return sql<Found[]>`
    with newest as materialized (${newest(sql)})
    select subject, count(*) as events, max(received_at) as last_event_at from newest
    where subject ilike all (${patterns}::text[]) group by subject order by last_event_at desc limit ${limit}`;
}

/** The issues of one number, of any age, in the projects of the newest events and in those of `/api/projects`. */
export async function findNumbered(sql: Queryable, number: string, limit: number): Promise<Found[]> {
  const projects = await sql<{ project: string }[]>`
    select distinct regexp_replace(subject, '#[^#]*$', '') as project from (${newest(sql)}) newest
    union select source || ':' || source_project_id from projects`;
  const subjects = projects.flatMap(({ project }) => [`${project}#${number}`, `${project}#!${number}`]);
  return findSubjects(sql, subjects, limit);
}

export interface Deferred {
  readonly count: number;
  readonly plugin: string;
  readonly oldest_at: string;
}

/** Webhooks of a source that its plugin has not parsed yet. */
export async function findDeferred(sql: Queryable, source: string): Promise<Deferred | null> {
  const [found] = await sql<Deferred[]>`
    select plugin, count(*) as count, min(received_at) as oldest_at from unread_webhooks where source = ${source}
    group by plugin order by oldest_at limit 1`;
  return found ?? null;
}
