import type { Fragment, Queryable } from "../platform/database/client.ts";
import { containsWords } from "../platform/database/history-page.ts";
import { knownProjects } from "../subject-names/queries.ts";

export interface FoundSubject {
  readonly subject: string;
  readonly title: string | null;
  readonly events: number;
  readonly last_event_at: string;
}

/**
 * The title in the newest of the latest events, by the platform's time, because webhooks can arrive out of order and a replay
 * repeats an old one.
 */
const titleOf = (sql: Queryable, subject: Fragment) => sql`(
  select latest.title from (
    select w.title, w.replay_of is null as is_first, coalesce(w.occurred_at, w.received_at) as at from webhook_events w
    where w.subject = ${subject} and w.title is not null order by w.id desc limit 20) latest
  order by latest.is_first desc, latest.at desc limit 1)`;

/** The given subjects that have events. */
export const findSubjects = (sql: Queryable, subjects: readonly string[], limit: number): Promise<FoundSubject[]> =>
  sql<FoundSubject[]>`
    select found.*, ${titleOf(sql, sql`found.subject`)} as title from (
      select subject, count(*) as events, max(received_at) as last_event_at from webhook_events
      where subject = any(${subjects as string[]}::text[]) group by subject order by last_event_at desc, subject desc limit ${limit}) found
    order by last_event_at desc, subject desc`;

export async function findTitle(sql: Queryable, subject: string): Promise<string | null> {
  const [row] = await sql<[{ title: string | null }]>`select ${titleOf(sql, sql`${subject}::text`)} as title`;
  return row.title;
}

/** Maximum number of events that a search by words reads, newest first. */
const maxSearched = 30_000;

const newest = (sql: Queryable) =>
  sql`select subject, title, received_at from webhook_events where subject is not null order by id desc limit ${maxSearched}`;

/**
 * Subjects of the newest events whose name or title contains each of the words. A word such as `webshop#4` must match the end of
 * the name, and `CONF-7` does not match `CONF-71`.
 */
export function searchSubjects(sql: Queryable, words: readonly string[], limit: number): Promise<FoundSubject[]> {
  const isNumbered = (word: string) => /[#!]\d+$/.test(word);
  const ends = words.filter(isNumbered).map((word) => `%${word.replace(/[\\%_]/g, "\\$&")}`);
  const keys = words.filter((word) => /^[a-z]\w*-\d+$/i.test(word)).map((word) => `${word}(?!\\d)`);
  const parts = words.filter((word) => !isNumbered(word)).join(" ");
  return sql<FoundSubject[]>`
    select found.*, ${titleOf(sql, sql`found.subject`)} as title from (
      select subject, count(*) as events, max(received_at) as last_event_at from (${newest(sql)}) newest group by subject
      having bool_or(subject ilike all (${ends}::text[]) and ${containsWords(sql, sql`concat(subject, ' ', title)`, parts)}
        and concat(subject, ' ', title) ~* all (${keys}::text[]))
      order by last_event_at desc limit ${limit}) found
    order by last_event_at desc`;
}

/** The issues with a number, of any age, in the projects of the newest events and in those of `/api/projects`. */
export async function findNumbered(sql: Queryable, number: string, limit: number): Promise<FoundSubject[]> {
  const projects = await sql<{ project: string }[]>`${knownProjects(sql)}`;
  const subjects = projects.flatMap(({ project }) => [`${project}#${number}`, `${project}#!${number}`]);
  return findSubjects(sql, subjects, limit);
}

export interface DeferredSummary {
  readonly count: number;
  readonly plugin: string;
  readonly oldest_at: string;
}

/** Webhooks of a source that its plugin has not parsed yet. */
export async function findDeferred(sql: Queryable, source: string): Promise<DeferredSummary | null> {
  const [found] = await sql<DeferredSummary[]>`
    select plugin, count(*) as count, min(received_at) as oldest_at from unread_webhooks where source = ${source}
    group by plugin order by oldest_at limit 1`;
  return found ?? null;
}
