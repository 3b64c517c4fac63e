import type { Json } from "@signalbox/sdk";
import type { Queryable } from "../platform/database/client.ts";
import { createLargeJson } from "../platform/large-json.ts";
import { unpack } from "../platform/packing/packed.ts";
import { listUnparsed, readUnparsed, type UnparsedPayload } from "./unparsed-queries.ts";

/** What an erasure looks for in payloads. Exactly one member is set. */
interface Wanted {
  readonly actor: string | null;
  /** For example `alpha:acme/webshop#42`. */
  readonly subjects: readonly string[] | null;
  readonly project: { readonly source: string; readonly source_project_id: string } | undefined;
}

/**
 * Ids of the payloads that no plugin has parsed and that contain the person's name, or the project and the number of an issue.
 * Without their plugin, it is not known whose they are: an event that only mentions them is found, too.
 */
export async function findUnparsed(sql: Queryable, wanted: Wanted): Promise<string[]> {
  const sources = wanted.project ? [wanted.project.source] : (wanted.subjects?.map((one) => partsOf(one).source) ?? null);
  const found: string[] = [];
  const json = createLargeJson();
  try {
    for (const ids of await listUnparsed(sql, sources))
      for (const payload of await readUnparsed(sql, ids)) {
        const texts = textsOf(await parsed(payload, json));
        if (isWanted(payload.source, texts, wanted)) found.push(payload.id);
      }
  } finally {
    json.close();
  }
  return found;
}

function isWanted(source: string, texts: ReadonlySet<string>, { actor, subjects, project }: Wanted): boolean {
  if (actor !== null) return texts.has(actor.toLowerCase());
  if (project) return namesProject(texts, project.source_project_id.toLowerCase());
  return (subjects ?? []).map(partsOf).some((one) => {
    const issue = one.issue.toLowerCase();
    const namesIssue = texts.has(issue) || texts.has(issue.replace(/^!/, ""));
    return one.source === source && namesIssue && namesProject(texts, one.project.toLowerCase());
  });
}

function partsOf(subject: string): { source: string; project: string; issue: string } {
  const [, source = "", project = "", issue = ""] = /^([^:]*):(.*)#([^#]*)$/s.exec(subject) ?? [];
  return { source, project, issue };
}

/** As a value of its own, in an address, or as the first part of a key such as CONF-7. */
function namesProject(texts: ReadonlySet<string>, project: string): boolean {
  if (texts.has(project)) return true;
  for (const text of texts) {
    if (text.includes("://") && `${text}/`.includes(`/${project}/`)) return true;
    if (text.startsWith(`${project}-`) && /^\d+$/.test(text.slice(project.length + 1))) return true;
  }
  return false;
}

/** All texts and numbers of a payload, in lower case. */
function textsOf(payload: Json): Set<string> {
  const texts = new Set<string>();
  const rest: Json[] = [payload];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === "string") texts.add(value.toLowerCase());
    else if (typeof value === "number") texts.add(String(value));
    else if (typeof value === "object" && value !== null) for (const member of Object.values(value)) rest.push(member);
  }
  return texts;
}

/** The text of a damaged or truncated payload cannot be searched, so it counts as empty. */
async function parsed({ body }: UnparsedPayload, json: ReturnType<typeof createLargeJson>): Promise<Json> {
  try {
    const read = await json.parse(unpack(body));
    return "value" in read ? (read.value as Json) : null;
  } catch {
    return null;
  }
}
