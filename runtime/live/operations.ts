import * as live from "@signalbox/schema/live";
import { problem } from "@signalbox/schema/problem";
import { databaseTime } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";
import { type BoundOperation, Events, handle, type ServerEvent } from "../platform/operation.ts";
import { Semaphore } from "../platform/semaphore.ts";
import { LiveFeed } from "./feed.ts";
import { findLive, listEndedSince, listLive, listMarks, listMarksSince, readSteps } from "./queries.ts";
import { type Change, changeOf, isEnded, stepChangeOf, storeMs } from "./stream.ts";

const dayMs = 86_400_000;
const maxStreams = 200;
let open = 0;

/** Changes of executions as server-sent events. */
export const liveOperations: BoundOperation[] = [
  handle(live.ofExecution, async ({ id, seconds }, { sql, signal, last_event_id }) => {
    if (!(await findLive(sql, id))) throw problem("not_found", `There is no task execution ${id}.`);
    return new Events(countStream(followExecution(sql, id, stepIn(last_event_id), until(signal, seconds))));
  }),
  handle(
    live.ofService,
    async ({ seconds }, { sql, signal, last_event_id }) =>
      new Events(countStream(followService(sql, timeIn(last_event_id), until(signal, seconds)))),
  ),
];

/** The number of a step in `Last-Event-ID`; -1 if it is none. */
const stepIn = (lastEventId = ""): number => (/^\d{1,9}$/.test(lastEventId) ? Number(lastEventId) : -1);

/** The time in `Last-Event-ID`, in milliseconds; `NaN` if it is none of this service, such as one before 1970. */
function timeIn(lastEventId = ""): number {
  const ms = /^\d{4}-\d\d-\d\dT/.test(lastEventId) ? Date.parse(lastEventId) : Number.NaN;
  return ms >= 0 ? ms : Number.NaN;
}

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

const feeds = new WeakMap<Sql, LiveFeed>();
function feedOf(sql: Sql): LiveFeed {
  const feed = feeds.get(sql) ?? new LiveFeed(sql);
  feeds.set(sql, feed);
  return feed;
}

/** Streams that begin read what their readers have missed, a few at a time, because other requests need the database, too. */
const catchUps = new Semaphore(4);
const catchUp =
  (signal: AbortSignal) =>
  <T>(read: () => Promise<T>): Promise<T> =>
    catchUps.run(read, { signal });

const eventOf = ({ data }: Change, id: string): ServerEvent => ({ event: data.step ? "step" : "execution", id, data });

/** `after`: number of the last step that the reader received; the events contain these numbers. */
async function* followExecution(sql: Sql, id: string, after: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const feed = feedOf(sql);
  const stream = feed.open(id);
  let lastSeq = after;
  const states = new Map<number, string>();
  let endChange: Change | undefined;
  function* eventsOf(change: Change): Generator<ServerEvent> {
    const { execution, step } = change.data;
    if (execution && isEnded(execution.state)) endChange = change;
    else if (execution) yield eventOf(change, String(lastSeq));
    if (!step) return;
    const state = `${step.state} ${step.error ?? ""}`;
    if (step.seq <= lastSeq || states.get(step.seq) === state) return;
    states.set(step.seq, state);
    yield eventOf(change, String(lastSeq));
    if (step.state !== "started" && step.seq === lastSeq + 1) lastSeq = step.seq;
  }
  try {
    if (!(await stream.waitUntilBegun(signal))) return;
    const earlier = await catchUp(signal)(() => listMarks(sql, new Map([[id, lastSeq + 1]])));
    for await (const step of readSteps(sql, earlier, catchUp(signal))) {
      yield* eventsOf(stepChangeOf(step, ""));
      stream.recordRead();
    }
    for await (const change of stream.changes(signal)) yield* eventsOf(change);
    // The steps of an ended execution come before it.
    if (endChange && !signal.aborted) yield eventOf(endChange, String(lastSeq));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    feed.close(stream);
  }
}

/** `since`: time of the last event that the reader received, in milliseconds; the events contain these times. */
async function* followService(sql: Sql, since: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const feed = feedOf(sql);
  const stream = feed.open(undefined, Number.isFinite(since) ? since : undefined);
  try {
    if (!(await stream.waitUntilBegun(signal))) return;
    if (Number.isFinite(since))
      for await (const event of missedSince(sql, feed, since, signal)) {
        yield event;
        stream.recordRead();
      }
    for await (const change of stream.changes(signal)) yield eventOf(change, change.at);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    feed.close(stream);
  }
}

/** What changed since a time. A reader that is cut off here reads all of it again, because the events contain that time. */
async function* missedSince(sql: Sql, feed: LiveFeed, since: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const at = new Date(since).toISOString();
  const changedAt = new Date(since - storeMs).toISOString();
  const read = async () => {
    const ended = await listEndedSince(sql, changedAt, firstIdOf(since - dayMs));
    const open = await listLive(sql, firstIdOf(Math.max(since, databaseTime() - dayMs) - 1_000), []);
    const followed = feed.track(open.flatMap(({ id, state }) => (isEnded(state) ? [] : [id])));
    const ids = [...new Set([...followed, ...ended.map(({ id }) => id)])];
    const marks = await listMarksSince(sql, ids, changedAt);
    return { executions: [...ended.reverse(), ...open.filter(({ id }) => ended.every((one) => one.id !== id))], marks };
  };
  const { executions, marks } = await catchUp(signal)(read);
  for (const execution of executions) yield eventOf(changeOf(execution, at), at);
  for await (const step of readSteps(sql, marks, catchUp(signal))) yield eventOf(stepChangeOf(step, at), at);
}
