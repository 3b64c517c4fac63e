import type { Output } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import * as subjects from "@signalbox/schema/subjects";
import { listEvents, listRefused } from "../events/queries.ts";
import { listExecutionsOfEvents } from "../executions/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import { namesOf, subjectKey, subjectParts } from "../subject-names/subject-key.ts";
import { type FoundSubject, findDeferred, findNumbered, findSubjects, findTitle, searchSubjects } from "./queries.ts";
import { eventVerdict, executionVerdict, subjectVerdict } from "./verdict.ts";

/** `sources`: names of the sources that a subject may belong to. */
export function subjectOperations(sources: () => Iterable<string>): BoundOperation[] {
  return [
    handle(subjects.search, async ({ q, limit }, { sql }) => {
      const subjects = await findNamed(sql, q, { sources: sources(), limit });
      const items = subjects.map((one) => ({ ...one, ...subjectParts(one.subject) }));
      return { items, total: items.length };
    }),
    handle(subjects.get, async ({ source, project, issue, limit }, { sql }) => {
      const named = subjectKey(source, { project, issue });
      const [stored] = await findSubjects(sql, await findMeant(sql, named, [source]), 1);
      const subject = stored?.subject ?? named;
      const timeline = await readTimeline(sql, subject, source, limit);
      if (timeline.deliveries.length === 0 && ![...sources()].includes(source))
        throw problem("not_found", `There is no source "${source}", and no event about ${subject}.`);
      return { subject, ...(stored ? subjectParts(subject) : { source, project, issue }), ...timeline };
    }),
  ];
}

/**
 * The issues that a text names, otherwise those with its words. An address names one issue, so if no event is about it, others are no
 * answer.
 */
async function findNamed(
  sql: Sql,
  q: string,
  { sources, limit }: { sources: Iterable<string>; limit: number },
): Promise<FoundSubject[]> {
  const isAddress = /^https?:/i.test(q);
  const meant = await findMeant(sql, q, sources);
  if (meant.length > 0) {
    const found = await findSubjects(sql, meant, limit);
    if (found.length > 0 || isAddress) return found;
  }
  const word = isAddress ? lastSegment(q) : q;
  const number = /^[#!]?(\d+)$/.exec(word)?.[1];
  const numbered = number ? await findNumbered(sql, number, limit) : [];
  if (numbered.length > 0 || (number && isAddress)) return numbered;
  return searchSubjects(sql, word.split(/\s+/), limit);
}

const lastSegment = (address: string): string =>
  address
    .replace(/[?#].*$/, "")
    .split("/")
    .filter(Boolean)
    .at(-1) ?? address;

const dayMs = 86_400_000;

type Timeline = Pick<Output<typeof subjects.get>, "title" | "deliveries" | "more" | "refused" | "deferred" | "verdict">;

async function readTimeline(sql: Sql, subject: string, source: string, limit: number): Promise<Timeline> {
  const page = { offset: 0, order: "desc" } as const;
  const events = await listEvents(sql, { ...page, subjects: namesOf(subject), limit });
  const from = new Date(Date.now() - dayMs).toISOString();
  const refused = await listRefused(sql, { ...page, source, limit: 10, from });
  const deferred = await findDeferred(sql, source);
  const ids = events.items.map(({ id }) => id);
  const executions = Map.groupBy(await listExecutionsOfEvents(sql, ids), ({ event_id }) => event_id);
  const deliveries = events.items.map((event) => {
    const own = (executions.get(event.id) ?? []).map((one) => ({ ...one, verdict: executionVerdict(one) }));
    return { event, verdict: eventVerdict(event, own.length), executions: own };
  });
  return {
    title: await findTitle(sql, subject),
    verdict: subjectVerdict(deliveries, { refusedEvents: refused.items, deferred }),
    deliveries,
    more: events.next_cursor !== null,
    refused: refused.items,
    deferred,
  };
}
