import type { Output } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import * as retention from "@signalbox/schema/retention";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { possibleSubjects } from "../platform/subject.ts";
import {
  cancelForErasure,
  countErasure,
  type ErasureTarget,
  eraseData,
  findStored,
  hasProject,
  memoriesOf,
  sourcesOfEvents,
} from "./erase-queries.ts";
import { countDue, databaseSize, listEarlierSizes, tableSizes } from "./queries.ts";
import { cutoffs, type RetentionDays, rulesOf } from "./rules.ts";

export interface RetentionParts {
  readonly days: RetentionDays;
  readonly bus: Bus;
  /** Names of the sources that a subject may belong to. */
  readonly sources: () => Iterable<string>;
  /** Deletes a memory by its key from the store that contains it. */
  readonly removeMemory: (key: string) => Promise<void>;
}

export function retentionOperations({ days, bus, sources, removeMemory }: RetentionParts): BoundOperation[] {
  return [
    handle(retention.storage, (_, { sql }) => storageOf(sql, days)),
    handle(retention.erase, async (input, { sql }) => {
      const { subject = null, actor = null, project_id = null } = input;
      if ([subject, actor, project_id].filter((value) => value !== null).length !== 1)
        throw problem("bad_request", "Name exactly one of subject, actor and project_id.");
      const subjects =
        subject === null ? null : await findStored(sql, subjectsOf(subject, [...sources(), ...(await sourcesOfEvents(sql))]));
      const target: ErasureTarget = { subjects, actor, project_id };
      const named = { subject, subjects: subjects ?? [], actor, project_id };
      if (target.project_id !== null && !(await hasProject(sql, target.project_id)))
        throw problem("not_found", `There is no project ${target.project_id}.`);
      const memories = (await memoriesOf(sql, target)).map(({ key }) => key);
      if (input.dry_run) return { dry_run: true, ...named, ...(await countErasure(sql, target)), memories: memories.length };
      const cancelled = await cancelForErasure(sql, target);
      for (const id of cancelled) await bus.publish("cancel", id);
      const counts = await eraseData(sql, target);
      for (const key of memories) await removeMemory(key);
      return { dry_run: false, ...named, ...counts, cancelled: cancelled.length, memories: memories.length };
    }),
  ];
}

/** If a text names no issue, nothing would be erased, and the response would not say why. */
function subjectsOf(text: string, sources: readonly string[]): string[] {
  const meant = possibleSubjects(text, sources);
  if (meant.length > 0) return meant;
  throw problem("bad_request", "subject: names no issue; send acme/webshop#42, CONF-7 or the address of its page", {
    field: "subject",
  });
}

async function storageOf(sql: Sql, days: RetentionDays): Promise<Output<typeof retention.storage>> {
  const tables = await tableSizes(sql);
  const earlier = new Map((await listEarlierSizes(sql)).map((one) => [one.name, one]));
  const due = await countDue(sql, cutoffs(days, Date.now()));
  const growth = ({ name, bytes }: { name: string; bytes: number }) => {
    const before = earlier.get(name);
    return before ? Math.round((bytes - before.bytes) / before.days) : null;
  };
  return {
    bytes: await databaseSize(sql),
    tables: tables.map((table) => ({ ...table, bytes_per_day: growth(table) })),
    retention: rulesOf(days).map(({ key, ...rule }) => ({ ...rule, due: due[key] })),
  };
}
