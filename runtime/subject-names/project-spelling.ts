import type { Fragment, Queryable } from "../platform/database/client.ts";

/**
 * Platforms ignore case in the ids of projects: `Acme/Shop` and `acme/shop` are one repository. This is the spelling for comparing
 * them, also of ids that only the database compares (`projectSpelling`): the letters A to Z become small.
 */
export const spellProject = (project: string): string => project.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** The same in SQL. The unique index of `projects` has this expression. */
export const projectSpelling = (sql: Queryable, project: Fragment): Fragment => sql`lower(${project} collate "C")`;
