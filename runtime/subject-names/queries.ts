import type { Subject } from "@signalbox/sdk";
import type { Queryable } from "../platform/database/client.ts";
import { possibleSubjects } from "./possible-subjects.ts";
import { projectSpelling, spellProject } from "./project-spelling.ts";
import { isUniqueIssue, unknownProject } from "./subject-key.ts";

/** Maximum number of events whose projects are compared, newest first. */
const maxCompared = 30_000;

/** The projects of the newest events and those of `/api/projects`, as `alpha:acme/webshop`. */
export const knownProjects = (sql: Queryable) => sql`
  select distinct regexp_replace(subject, '#[^#]*$', '') as project from (
    select subject from webhook_events where subject is not null order by id desc limit ${maxCompared}) newest
  union select source || ':' || source_project_id from projects`;

/**
 * The subjects that a text may refer to, as `possibleSubjects`, but spelled as they are stored, because platforms ignore case. If
 * there is no event about any of them, their projects are looked up in another spelling.
 */
export async function findMeant(sql: Queryable, text: string, sources: Iterable<string>): Promise<string[]> {
  const possible = possibleSubjects(text, sources);
  if (possible.length === 0) return possible;
  const [found] = await sql`select 1 from webhook_events where subject = any(${possible}::text[]) limit 1`;
  if (found) return possible;
  const parts = possible.map((subject) => {
    const at = subject.lastIndexOf("#");
    return { project: spellProject(subject.slice(0, at)), issue: subject.slice(at + 1) };
  });
  const projects = await sql<{ project: string }[]>`
    select project from (${knownProjects(sql)}) known
    where ${projectSpelling(sql, sql`project`)} = any(${parts.map(({ project }) => project)}::text[])`;
  const spellings = projects.flatMap(({ project }) =>
    parts
      .filter((one) => one.project === spellProject(project))
      .flatMap(({ issue }) => [issue, issue.toUpperCase(), issue.toLowerCase()].map((name) => `${project}#${name}`)),
  );
  return [...new Set([...possible, ...spellings])];
}

/** Days for which the name of an issue is remembered: it can be moved to another project. */
const namedDays = 7;
/** Maximum number of names that one statement removes. */
const portion = 100;

/** Where an id names an issue. Only the same webhook path counts: otherwise, the holder of another path's secret could choose the name. */
interface NamedAt {
  readonly source: string;
  readonly slug: string;
}

/**
 * The subject of an event that names its issue only by an id, with the project and name that an earlier execution on the issue
 * learned. A UUID names one issue whatever its project; its length is the condition of the partial index. The names
 * of other ids are remembered, and may be old (`mayBeOld`): what ends or decides the work on an issue looks them up.
 */
export async function findNamed(
  sql: Queryable,
  { source, slug }: NamedAt,
  { issue }: Subject,
  mayBeOld: boolean,
): Promise<Subject | null> {
  if (!isUniqueIssue(issue)) {
    if (!mayBeOld) return null;
    const [name] = await sql<Subject[]>`
      select project, issue from issue_names
      where source = ${source} and slug = ${slug} and id = ${issue} and named_at > now() - make_interval(days => ${namedDays})`;
    return name ?? null;
  }
  const [known] = await sql<{ project: string }[]>`
    select project from task_executions
    where length(issue) = 36 and issue = ${issue} and source = ${source} and slug = ${slug} and project <> ${unknownProject}
    order by id desc limit 1`;
  return known ? { project: known.project, issue } : null;
}

/** Remembers the name of an issue, as its platform reported it, for later events that name it only by this id. */
export const rememberName = (sql: Queryable, { source, slug }: NamedAt, id: string, { project, issue }: Subject) => sql`
  with expired as (
    delete from issue_names where (source, slug, id) in (
      select source, slug, id from issue_names where named_at < now() - make_interval(days => ${namedDays})
        and (source, slug, id) <> (${source}, ${slug}, ${id}) order by named_at limit ${portion} for update skip locked)
  )
  insert into issue_names (source, slug, id, project, issue) values (${source}, ${slug}, ${id}, ${project}, ${issue})
  on conflict (source, slug, id) do update set project = excluded.project, issue = excluded.issue, named_at = now()`;
