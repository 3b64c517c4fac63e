import type { Subject } from "@signalbox/sdk";

/** The stored form of a subject: `alpha:acme/webshop#42`. */
export const subjectKey = (source: string, { project, issue }: Subject): string => `${source}:${project}#${issue}`;

/** The parts of a stored subject. */
export function subjectParts(subject: string): Subject & { readonly source: string } {
  const [, source = "", project = "", issue = ""] = /^([^:]*):(.*)#([^#]*)$/s.exec(subject) ?? [];
  return { source, project, issue };
}
