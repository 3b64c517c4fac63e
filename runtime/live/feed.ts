import { setImmediate as nextTurn } from "node:timers/promises";
import type { Execution } from "../executions/queries.ts";
import { databaseTime } from "../platform/clock.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdOf, timeOfId } from "../platform/ids.ts";
import { type LiveStep, listAllLive, listMarks, readSteps, type StepMark } from "./queries.ts";
import { type Change, changeOf, isEnded, LiveStream, stepChangeOf, storeMs } from "./stream.ts";

/** Interval between two reads. Streams read the database, so they include the changes of all replicas and miss none. */
const pollMs = 400;
const overlapMs = 2_000;
/** Executions that were created within this time are new for a stream that begins. */
const newMs = 1_000;
/** Number of executions and steps that are compared and sent to all streams before other work has its turn. */
const rowsPerTurn = 500;
/** Time without streams after which the feed begins anew. Readers that reconnect before it miss nothing. */
const keepMs = 60_000;

interface KnownExecution {
  readonly change: Change;
  readonly json: string;
  /** States of the steps from `firstStep` on. The steps before it have ended. */
  readonly steps: Map<number, string>;
  firstStep: number;
}

const markOf = ({ state, error }: Pick<StepMark, "state" | "error">): string => `${state} ${error ?? ""}`;
const mayChange = (mark: string): boolean => /^(?:started|proposed) /.test(mark);

function send(streams: readonly LiveStream[], change: Change): void {
  for (const stream of streams) stream.push(change);
}

/**
 * Reads the changes of executions from the database once for all streams of this replica: if each of 200 streams read them itself,
 * other requests would wait for the database.
 */
export class LiveFeed {
  readonly #sql: Sql;
  readonly #streams = new Set<LiveStream>();
  readonly #known = new Map<string, KnownExecution>();
  /** Executions that have not ended. */
  readonly #tracked = new Set<string>();
  /** Executions with a greater id are new. Empty until the first read has succeeded. */
  #after = "";
  #rows = 0;
  #forgetting: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #wake = Promise.withResolvers<void>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds a stream, of all executions or of one. `since`: time of the reader's last change. `close` it in the end. */
  open(only?: string, since?: number): LiveStream {
    const stream = new LiveStream(only, since);
    this.#streams.add(stream);
    if (this.#isReading) this.#wake.resolve();
    else void this.#read();
    return stream;
  }

  close(stream: LiveStream): void {
    this.#streams.delete(stream);
  }

  /** Follows further executions until they end. Returns the ids of all that are followed. */
  track(ids: readonly string[]): string[] {
    for (const id of ids) this.#tracked.add(id);
    return [...new Set([...this.#known.keys(), ...ids])];
  }

  /** Reads until there are no streams. An error ends them all. */
  async #read(): Promise<void> {
    this.#isReading = true;
    clearTimeout(this.#forgetting);
    if (this.#after === "") this.#forget();
    try {
      while (this.#streams.size > 0) {
        await this.#turn();
        await this.#pause();
      }
    } catch (error) {
      for (const stream of this.#streams) stream.fail(error);
      this.#streams.clear();
    }
    this.#isReading = false;
    this.#forgetting = setTimeout(() => this.#forget(), keepMs).unref();
  }

  #forget(): void {
    this.#known.clear();
    this.#tracked.clear();
    this.#after = "";
  }

  /** A stream that begins does not wait. */
  async #pause(): Promise<void> {
    this.#wake = Promise.withResolvers();
    const timer = setTimeout(this.#wake.resolve, pollMs);
    if ([...this.#streams].some((stream) => !stream.hasBegun)) this.#wake.resolve();
    await this.#wake.promise;
    clearTimeout(timer);
  }

  async #turn(): Promise<void> {
    const now = databaseTime();
    const readAt = new Date(now).toISOString();
    const newestId = firstIdOf(now - newMs);
    for (const stream of this.#streams) if (stream.isOver) this.#streams.delete(stream);
    const streams = [...this.#streams];
    const newStreams = streams.filter(({ hasBegun }) => !hasBegun);
    const askedIds = new Set([...this.#tracked, ...streams.flatMap(({ executionId }) => executionId ?? [])]);
    const rows = await listAllLive(this.#sql, this.#after || newestId, [...askedIds]);
    const earlierIds = await this.#sendChanges(rows, streams, this.#after || newestId, readAt);
    if (newStreams.length > 0) await this.#sendKnown(newStreams, newestId, readAt);
    await this.#readSteps(earlierIds, streams, readAt);
    // Others may have been added during the read.
    for (const id of askedIds) this.#tracked.delete(id);
    for (const { id, state } of rows) if (!isEnded(state)) this.#tracked.add(id);
    this.#advance(rows.at(-1), newestId, now);
    // A stream that begins may read earlier steps itself. A step that changed between its read and this one would be lost.
    for (const stream of newStreams) stream.begin();
    for (const stream of streams) if (stream.executionId !== undefined && !this.#isOpen(stream.executionId)) stream.end();
  }

  /**
   * Sends what has changed since the last read. Returns the executions whose steps so far are not sent: streams of one execution read
   * its earlier steps themselves, and other streams do not need those of an execution that is not running.
   */
  async #sendChanges(rows: readonly Execution[], streams: readonly LiveStream[], afterId: string, readAt: string) {
    const isFirst = this.#after === "";
    const begins = new Set(streams.filter(({ hasBegun }) => !hasBegun).map(({ executionId }) => executionId));
    const earlierIds = new Set<string>();
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
    for (const row of rows) {
      await this.#yieldTurn();
      const isAsked = isFirst || (begins.has(row.id) && row.state !== "running");
      if (!this.#known.has(row.id) && row.id <= afterId && isAsked) earlierIds.add(row.id);
      const change = this.#note(row, readAt);
      if (change && !earlierIds.has(row.id)) send(streams, change);
    }
    return earlierIds;
  }

  /** Sends the known executions to the streams that begin with them. */
  async #sendKnown(newStreams: readonly LiveStream[], newestId: string, readAt: string): Promise<void> {
    for (const { change } of this.#known.values()) {
      await this.#yieldTurn();
      const begun = newStreams.filter((stream) => stream.beginsWith(change, newestId));
      // With the time of this read. An earlier time would make a reader that reconnects receive these changes again.
      if (begun.length > 0) send(begun, { at: readAt, data: change.data });
    }
  }

  /**
   * Another replica may store an execution a moment after it generated its id, and its clock may be slow or, until it is compared with
   * the database's, far ahead. The last execution can be a running one that is older than those that were new before.
   */
  #advance(last: Execution | undefined, newestId: string, now: number): void {
    const next = firstIdOf(Math.max(last ? Math.min(timeOfId(last.id), now) : 0, now - storeMs) - overlapMs);
    this.#after ||= newestId;
    if (next > this.#after) this.#after = next;
  }

  /** Remembers an execution. Returns how it has changed; `null` if it has not. */
  #note(row: Execution, readAt: string): Change | null {
    const known = this.#known.get(row.id);
    const json = JSON.stringify(row);
    if (known?.json === json) return null;
    const change = changeOf(row, readAt);
    const before = known?.change.data.execution;
    // A restart may repeat a step that had failed.
    const isRestarted = before && isEnded(before.state) && !isEnded(row.state);
    const { steps, firstStep } = known && !isRestarted ? known : { steps: new Map<number, string>(), firstStep: 0 };
    this.#known.set(row.id, { change, json, steps, firstStep });
    return change;
  }

  #isOpen(id: string): boolean {
    const execution = this.#known.get(id)?.change.data.execution;
    return execution ? !isEnded(execution.state) : false;
  }

  async #yieldTurn(): Promise<void> {
    if (++this.#rows % rowsPerTurn === 0) await nextTurn();
  }

  /** The steps of executions are read after them, so that those of an ended execution are complete. */
  async #readSteps(earlierIds: ReadonlySet<string>, streams: readonly LiveStream[], readAt: string): Promise<void> {
    const marks = await listMarks(this.#sql, new Map([...this.#known].map(([id, { firstStep }]) => [id, firstStep])));
    const note = (step: StepMark | LiveStep) => this.#known.get(step.execution_id)?.steps.set(step.seq, markOf(step));
    const changed: StepMark[] = [];
    for (const mark of marks) {
      if (earlierIds.has(mark.execution_id)) note(mark);
      else if (this.#known.get(mark.execution_id)?.steps.get(mark.seq) !== markOf(mark)) changed.push(mark);
    }
    for await (const step of readSteps(this.#sql, changed)) {
      await this.#yieldTurn();
      note(step);
      send(streams, stepChangeOf(step, readAt));
    }
    for (const one of this.#known.values())
      for (let mark = one.steps.get(one.firstStep); mark !== undefined && !mayChange(mark); mark = one.steps.get(one.firstStep))
        one.steps.delete(one.firstStep++);
  }
}
