import { subjectKey } from "./subject-key.ts";

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** Project and issue, as the source's plugin names them. `source`: `null` if any source is possible. */
interface SubjectReference {
  readonly source: string | null;
  readonly project: string;
  readonly issue: string;
}

/**
 * The subjects that a text may refer to, in their stored form (`alpha:acme/webshop#42`). The text can be `acme/webshop#42`,
 * `group/app!7`, `CONF-7`, the address of an issue's page, or the stored form itself.
 */
export function possibleSubjects(text: string, sources: Iterable<string>): string[] {
  const names = [...sources];
  const all = referencesIn(text.trim()).flatMap((reference) =>
    (reference.source === null ? names : [reference.source]).map((source) => subjectKey(source, reference)),
  );
  return [...new Set(all)];
}

function referencesIn(text: string): SubjectReference[] {
  if (/^https?:\/\//i.test(text)) return inAddress(text);
  const match = /^([a-z][a-z0-9_-]{0,62}):(.+)#([^#]+)$/.exec(text);
  if (match?.[1] && match[2] && match[3]) return [{ source: match[1], project: match[2], issue: match[3] }];
  const short = /^([^\s#!]+)([#!])([^\s#!]+)$/.exec(text);
  if (short?.[1] && short[3]) return [{ source: null, project: short[1], issue: short[2] === "!" ? `!${short[3]}` : short[3] }];
  return byKey(text);
}

/** `CONF-7`: the project is the part before the number. */
function byKey(text: string): SubjectReference[] {
  const key = /^([a-z][a-z0-9_]*)-(\d+)$/i.exec(text);
  return key?.[1] && key[2] ? [{ source: null, project: key[1].toUpperCase(), issue: `${key[1].toUpperCase()}-${key[2]}` }] : [];
}

function inAddress(text: string): SubjectReference[] {
  if (!URL.canParse(text)) return [];
  const { pathname, searchParams } = new URL(text);
  let path: string;
  try {
    path = decodeURIComponent(pathname).replace(/\/+$/, "");
  } catch {
    return [];
  }
  const selected = searchParams.get("selectedIssue");
  if (selected) return byKey(selected);
  const browsePath = /\/browse\/([^/]+)$/.exec(path);
  if (browsePath?.[1]) return byKey(browsePath[1]);
  const planePath = new RegExp(`/projects/(${uuid})/(?:issues|work-items)/(${uuid})$`, "i").exec(path);
  if (planePath?.[1] && planePath[2]) return [{ source: null, project: planePath[1], issue: planePath[2] }];
  const page = /^\/(.+?)(?:\/-)?\/(issues|pull|pulls|merge_requests|work_items)\/(\d+)(?:\/.*)?$/.exec(path);
  if (!page?.[1] || !page[3]) return [];
  const issue = page[2] === "merge_requests" ? `!${page[3]}` : page[3];
  return projectsIn(page[1]).map((project) => ({ source: null, project, issue }));
}

/** A platform may be hosted below a path, so the first segments may not belong to the project. */
function projectsIn(path: string): string[] {
  const segments = path.split("/");
  return segments.slice(0, Math.max(1, segments.length - 1)).map((_, at) => segments.slice(at).join("/"));
}
