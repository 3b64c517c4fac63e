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

/**
 * The same subject with the project of an earlier execution on its issue. Only executions that the same webhook path started count:
 * otherwise, the holder of another path's secret could choose the project. Only for a UUID, which names one issue whatever its
 * project; its length is the condition of the partial index.
 */
export async function findNamed(sql: Queryable, source: string, slug: string, { issue }: Subject): Promise<Subject | null> {
  if (!isUniqueIssue(issue)) return null;
  const [known] = await sql<{ project: string }[]>`
    select project from task_executions
    where length(issue) = 36 and issue = ${issue} and source = ${source} and slug = ${slug} and project <> ${unknownProject}
    order by id desc limit 1`;
  return known ? { project: known.project, issue } : null;
}
