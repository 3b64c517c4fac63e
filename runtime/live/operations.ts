import * as live from "@signalbox/schema/live";
import { problem } from "@signalbox/schema/problem";
import { type Execution, findExecution } from "../executions/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdAt, timeOfId } from "../platform/ids.ts";
import { type Bound, Events, handle, type ServerEvent } from "../platform/operation.ts";
import { sleep } from "../platform/retry.ts";
import { type LiveStep, listEndedSince, listLive, listStepsOf } from "./queries.ts";

/** Interval between two reads. Streams read the database, so they include the changes of all replicas and miss none. */
const pollMs = 400;
const dayMs = 86_400_000;
const ended = ["succeeded", "failed", "cancelled"];
const maxStreams = 200;
const overlapMs = 2_000;
const idLength = 36;
let open = 0;

/** Changes of executions as server-sent events. */
export const liveOperations: Bound[] = [
  handle(live.ofExecution, async ({ id, seconds }, { sql, signal, last_event_id }) => {
    if (!(await findExecution(sql, id))) throw problem("not_found", `There is no task execution ${id}.`);
    return new Events(countStream(followExecution(sql, id, Number.parseInt(last_event_id ?? "-1", 10), until(signal, seconds))));
  }),
  handle(
    live.ofService,
    async ({ seconds }, { sql, signal, last_event_id }) =>
      new Events(countStream(followService(sql, Date.parse(last_event_id ?? ""), until(signal, seconds)))),
  ),
];

const until = (signal: AbortSignal, seconds: number) => AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);

async function* countStream(events: AsyncIterable<ServerEvent>): AsyncGenerator<ServerEvent> {
  if (open >= maxStreams)
    throw problem("unavailable", `${open} streams are open on this replica; try again later.`, { retryAfter: 10 });
  open++;
  try {
    yield* events;
  } finally {
    open--;
  }
}

const executionEvent = (execution: Execution, id: string): ServerEvent => ({
  event: "execution",
  id,
  data: { execution_id: execution.id, execution, step: null },
});
const stepEvent = ({ execution_id, ...step }: LiveStep, id: string): ServerEvent => ({
  event: "step",
  id,
  data: { execution_id, execution: null, step },
});

/** `after`: number of the last step that the reader received; the events contain these numbers. */
async function* followExecution(sql: Sql, id: string, after: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  let last = Number.isInteger(after) ? after : -1;
  let shown = "";
  const states = new Map<number, string>();
  while (!signal.aborted) {
    const execution = await findExecution(sql, id);
    if (!execution) return;
    // The steps are read after the execution, so that those of an ended execution are complete.
    for (const step of await listStepsOf(sql, [id], last + 1)) {
      const state = `${step.state} ${step.error ?? ""}`;
      if (states.get(step.seq) !== state) {
        states.set(step.seq, state);
        yield stepEvent(step, String(last));
      }
      if (step.state !== "started" && step.seq === last + 1) last = step.seq;
    }
    const now = JSON.stringify(execution);
    if (now !== shown) yield executionEvent(execution, String(last));
    shown = now;
    if (ended.includes(execution.state)) return;
    await sleep(pollMs, signal).catch(() => {});
  }
}

/** `since`: time of the last event that the reader received, in milliseconds; the events contain these times. */
async function* followService(sql: Sql, since: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const began = Date.now();
  const shown = new Map<string, string>();
  const steps = new Map<string, string>();
  if (Number.isFinite(since)) {
    const endedMeanwhile = await listEndedSince(sql, new Date(since).toISOString(), firstIdAt(since - dayMs));
    for (const execution of endedMeanwhile) {
      shown.set(execution.id, JSON.stringify(execution));
      yield executionEvent(execution, new Date(began).toISOString());
    }
  }
  let after = firstIdAt(Number.isFinite(since) ? Math.max(since, began - dayMs) - 1_000 : began - 1_000);
  let tracked: string[] = [];
  while (!signal.aborted) {
    const at = new Date().toISOString();
    const rows = await listLive(sql, after, tracked);
    for (const execution of rows) {
      const now = JSON.stringify(execution);
      if (shown.get(execution.id) !== now) yield executionEvent(execution, at);
      shown.set(execution.id, now);
    }
    for (const step of await listStepsOf(
      sql,
      rows.map(({ id }) => id),
      0,
    )) {
      const key = `${step.execution_id} ${step.seq}`;
      if (steps.get(key) !== step.state) yield stepEvent(step, at);
      steps.set(key, step.state);
    }
    tracked = rows.flatMap(({ id, state }) => (ended.includes(state) ? [] : [id]));
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of shown.keys()) if (!ids.has(id)) shown.delete(id);
    for (const key of steps.keys()) if (!ids.has(key.slice(0, idLength))) steps.delete(key);
    const last = rows.at(-1);
    // Another replica may store an execution a moment after it generated its id.
    if (last) after = firstIdAt(timeOfId(last.id) - overlapMs);
    await sleep(pollMs, signal).catch(() => {});
  }
}
