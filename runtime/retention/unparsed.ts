import { setImmediate as nextTurn } from "node:timers/promises";
import type { Queryable } from "../platform/database/client.ts";
import { type JsonScalar, scalarsOf } from "../platform/json-scalars.ts";
import { unpack } from "../platform/packing/packed.ts";
import { subjectParts } from "../subject-names/subject-key.ts";
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
  const sources = wanted.project ? [wanted.project.source] : (wanted.subjects?.map((one) => subjectParts(one).source) ?? null);
  const found: string[] = [];
  const pause = createPauses();
  for (const ids of await listUnparsed(sql, sources))
    for (const payload of await readUnparsed(sql, ids)) if (await isWanted(payload, wanted, pause)) found.push(payload.id);
  return found;
}

/** Number of strings and numbers that are compared between two looks at the clock. */
const scalarsPerLook = 200;
/** Maximum time for which the search blocks the event loop, in milliseconds. */
const turnMs = 10;

/** Returns a function that lets other work run if the search has blocked the event loop for long enough. */
function createPauses(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await nextTurn();
    since = performance.now();
  };
}

async function isWanted(payload: UnparsedPayload, wanted: Wanted, pause: () => Promise<void>): Promise<boolean> {
  const isComplete = matcherOf(payload.source, wanted);
  let compared = 0;
  await pause();
  for (const scalar of scalarsOf(textOf(payload))) {
    if (scalar && isComplete(scalar)) return true;
    if (!scalar || ++compared % scalarsPerLook === 0) await pause();
  }
  return false;
}

/** Returns a function that takes each string and number of a payload, and returns whether everything wanted was among them. */
function matcherOf(source: string, { actor, subjects, project }: Wanted): (scalar: JsonScalar) => boolean {
  if (actor !== null) return (scalar) => isPerson(scalar, actor.toLowerCase());
  if (project) return ({ text }) => namesProject(text.toLowerCase(), project.source_project_id.toLowerCase());
  const parts = (subjects ?? []).map(subjectParts).filter((one) => one.source === source);
  const issues = parts.map((one) => {
    const issue = one.issue.toLowerCase();
    return { project: one.project.toLowerCase(), names: [issue, issue.replace(/^!/, "")], hasProject: false, hasIssue: false };
  });
  return (scalar) => {
    const text = scalar.text.toLowerCase();
    return issues.some((one) => {
      one.hasProject ||= namesProject(text, one.project);
      one.hasIssue ||= one.names.includes(text);
      return one.hasProject && one.hasIssue;
    });
  };
}

/** Endings of the names of members whose value can be a person. */
const ofPeople =
  /(?:id|by|user|actor|author|sender|creator|reporter|assignee|owner|member|account|commenter|reviewer|participant|editor)$/i;

/** Numbers are common, so they count only as the value of a member that can name a person, or in an array of such values. */
const isPerson = ({ kind, text, name, isItem }: JsonScalar, actor: string): boolean =>
  text.toLowerCase() === actor && (kind === "string" || ofPeople.test(isItem ? name.replace(/s$/i, "") : name));

/** As a value of its own, in an address, or as the first part of a key such as CONF-7. */
function namesProject(text: string, project: string): boolean {
  if (text === project || (text.includes("://") && `${text}/`.includes(`/${project}/`))) return true;
  return text.startsWith(`${project}-`) && /^\d+$/.test(text.slice(project.length + 1));
}

/** A damaged payload has no text. */
function textOf({ body }: UnparsedPayload): Uint8Array {
  try {
    return unpack(body);
  } catch {
    return new Uint8Array();
  }
}
