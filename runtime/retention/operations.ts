import type { Input, Output } from "@signalbox/schema/operation";
import { fieldProblem, Problem, problem } from "@signalbox/schema/problem";
import * as retention from "@signalbox/schema/retention";
import type { MemoryFilter } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import { databaseTime } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import { unavailableAnswer } from "../platform/database/unavailable.ts";
import { type BoundOperation, type Context, handle } from "../platform/operation.ts";
import { possibleSubjects } from "../subject-names/possible-subjects.ts";
import { namesOf } from "../subject-names/subject-key.ts";
import {
  cancelForErasure,
  countErasure,
  type ErasureTarget,
  eraseData,
  executionIdsOf,
  findSourceProject,
  findStored,
  forgetCancelled,
  listCancelled,
  sourcesOfEvents,
} from "./erase-queries.ts";
import { countDue, databaseSize, listEarlierSizes, tableSizes } from "./queries.ts";
import { cutoffs, type RetentionDays, rulesOf } from "./rules.ts";
import { findUnparsed } from "./unparsed.ts";
import { countDeferred, discardDeferred } from "./unparsed-queries.ts";

export interface RetentionParts {
  readonly days: RetentionDays;
  readonly bus: Bus;
  /** For erasures, which may take longer than other statements. */
  readonly longRunning: Sql;
  /** Names of the sources that a subject may belong to. */
  readonly sources: () => Iterable<string>;
  readonly memories: Memories;
}

/** The memories of all stores. */
interface Memories {
  /** `isComplete`: fails if one of the stores is unavailable. */
  list(
    filter: MemoryFilter,
    page: { limit: number; offset: number; isComplete: true },
  ): Promise<{ readonly items: readonly { key: string }[] }>;
  remove(key: string): Promise<void>;
}

export function retentionOperations({ days, longRunning, ...parts }: RetentionParts): BoundOperation[] {
  return [
    handle(retention.storage, (_, { sql }) => storageOf(sql, days)),
    handle(retention.erase, (input, { recordStart }) => erase(longRunning, input, { ...parts, recordStart })),
  ];
}

type Erasing = Pick<RetentionParts, "bus" | "sources" | "memories"> & Pick<Context, "recordStart">;

async function erase(
  sql: Sql,
  input: Input<typeof retention.erase>,
  { bus, sources, memories, recordStart }: Erasing,
): Promise<Output<typeof retention.erase>> {
  const { subject = null, actor = null, project_id = null, dry_run } = input;
  if ([subject, actor, project_id].filter((value) => value !== null).length !== 1)
    throw problem("bad_request", "Name exactly one of subject, actor and project_id.");
  const possible = subject === null ? null : subjectsOf(subject, [...sources(), ...(await sourcesOfEvents(sql))]);
  const project = project_id === null ? undefined : await findSourceProject(sql, project_id);
  const unparsed = project_id && !project ? [] : await findUnparsed(sql, { actor, subjects: possible, project });
  // Also what names the issue without its project.
  const subjects = possible && (await findStored(sql, possible.flatMap(namesOf)));
  const target: ErasureTarget = { subjects, actor, project_id, unparsed };
  const named = { subject, subjects: subjects ?? [], actor, project_id };
  const listKeys = async () => keysOf(memories, await executionIdsOf(sql, target), project_id);
  // The memories of a deleted project remain, under its id.
  if (project_id !== null && !project && (await listKeys()).length === 0)
    throw problem("not_found", `There is no project ${project_id}, and no memory of it.`);
  if (dry_run) {
    const counts = await countErasure(sql, target);
    const events = counts.events + (await countDeferred(sql, unparsed));
    return { dry_run, ...named, ...counts, events, memories: (await listKeys()).length };
  }
  await recordStart?.({ subjects: subjects ?? [] });
  const removeAll = async () => {
    await discardDeferred(sql, unparsed, "its payload was erased before its plugin could parse it");
    const cancelled = await cancelForErasure(sql, target);
    for (const id of cancelled) await bus.publish("cancel", id);
    // Only now, because an execution may store memories until it is cancelled.
    const found = await listKeys();
    // First, because the events of a person cannot be found again once their names are removed.
    for (const key of found) await memories.remove(key).catch(unlessGone);
    return { keys: found, counts: await eraseData(sql, target), cancelled };
  };
  const { keys, counts, cancelled } = await removeAll().catch((cause) => {
    throw failureWith(cause, (reason) => `The erasure was interrupted: ${reason}. Send it again.`);
  });
  const later = await removeLateMemories(sql, memories, cancelled);
  return { dry_run, ...named, ...counts, cancelled: cancelled.length, memories: new Set([...keys, ...later]).size };
}

/**
 * Removes memories that connected agents stored before they learned that their executions are cancelled, also after an earlier
 * erasure that was interrupted. Returns their keys. The name of a person finds nothing any more, so the ids of the executions are
 * stored until this succeeds.
 */
async function removeLateMemories(sql: Sql, memories: Memories, own: readonly string[]): Promise<string[]> {
  try {
    const keys = await keysOf(memories, await listCancelled(sql), null);
    for (const key of keys) await memories.remove(key).catch(unlessGone);
    await forgetCancelled(sql, own);
    return keys;
  } catch (cause) {
    throw failureWith(
      cause,
      (reason) =>
        `The data was erased, but memories that its executions stored while they were cancelled may remain: ${reason}. Send the request again to remove them.`,
    );
  }
}

/** An expected failure becomes a problem that says what is left to do; any other one is returned unchanged. */
function failureWith(cause: unknown, messageOf: (reason: string) => string): unknown {
  const known = cause instanceof Problem ? cause : unavailableAnswer(cause);
  if (known === null) return cause;
  const { message, retryAfter } = known;
  const details = { cause, ...(retryAfter !== undefined && { retryAfter }) };
  return problem("unavailable", messageOf(message.replace(/(\. Try again[^.]*)?\.$/, "")), details);
}

const pageSize = 1000;
/** Number of executions whose memories are listed together. SQLite accepts fewer than 1,000 alternatives. */
const executionsPerList = 500;

/** Keys of the memories that these executions created, or that belong to this project. */
async function keysOf(memories: Memories, executions: readonly string[], project_id: number | null): Promise<string[]> {
  const filters: MemoryFilter[] = project_id === null ? [] : [[{ project_id }]];
  for (let at = 0; at < executions.length; at += executionsPerList)
    filters.push(executions.slice(at, at + executionsPerList).map((task_id) => ({ task_id })));
  const keys = new Set<string>();
  for (const filter of filters)
    for (let offset = 0, more = true; more; offset += pageSize) {
      const { items } = await memories.list(filter, { limit: pageSize, offset, isComplete: true });
      for (const { key } of items) keys.add(key);
      more = items.length === pageSize;
    }
  return [...keys];
}

/** A memory may expire before it is deleted. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Problem && error.code === "not_found")) throw error;
}

/** If a text names no issue, nothing would be erased, and the response would not say why. */
function subjectsOf(text: string, sources: readonly string[]): string[] {
  const meant = possibleSubjects(text, sources);
  if (meant.length > 0) return meant;
  throw fieldProblem("subject", "names no issue; send acme/webshop#42, CONF-7 or the address of its page");
}

async function storageOf(sql: Sql, days: RetentionDays): Promise<Output<typeof retention.storage>> {
  const tables = await tableSizes(sql);
  const earlier = new Map((await listEarlierSizes(sql)).map((one) => [one.name, one]));
  const due = await countDue(sql, cutoffs(days, databaseTime()));
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
