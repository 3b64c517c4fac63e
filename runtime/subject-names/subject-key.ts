import type { Subject } from "@signalbox/sdk";

/** The stored form of a subject: `alpha:acme/webshop#42`. */
export const subjectKey = (source: string, { project, issue }: Subject): string => `${source}:${project}#${issue}`;

/** The project of a subject that its platform names by an id of its own, without its project or key. */
export const unknownProject = "-";

/** Ids of this form name one issue of a platform, whatever its project. `findNamed` has the same length in SQL. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isUniqueIssue = (issue: string): boolean => uuid.test(issue);

/** The stored forms under which work on a subject may be stored: its own, and the one without its project. */
export function namesOf(subject: string): string[] {
  const { source, project, issue } = subjectParts(subject);
  if (project === unknownProject || !isUniqueIssue(issue)) return [subject];
  return [subject, subjectKey(source, { project: unknownProject, issue })];
}

/** The parts of a stored subject. */
export function subjectParts(subject: string): Subject & { readonly source: string } {
  const [, source = "", project = "", issue = ""] = /^([^:]*):(.*)#([^#]*)$/s.exec(subject) ?? [];
  return { source, project, issue };
}
