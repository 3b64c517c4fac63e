import type { receipt } from "@signalbox/schema/webhooks";
import type { z } from "zod";
import { batch } from "../platform/database/batch.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { ownAttributes } from "../platform/telemetry/names.ts";
import { inSpan, inTrace, validTraceparent } from "../platform/telemetry/tracing.ts";
import type { Arrival, StoredEvent } from "./arrival.ts";
import { alreadyCarriedOut, type Command, commandPlace, type Effect, type RunCommand, stoppedById } from "./command.ts";
import { commandIn } from "./command-decision.ts";
import { splitCopies } from "./copies.ts";
import { type DecisionDeps, decide, namedTriggers } from "./decide.ts";
import { authorKey, discard, findCarriedOut, setEffect } from "./ending-queries.ts";
import { packBodies } from "./event-row.ts";
import { identify } from "./identify.ts";
import type { IdentifiedEvent, IncomingEvent } from "./incoming-event.ts";
import { insertPending } from "./pending-queries.ts";
import { type ArrivalLimits, insertArrivals } from "./queries.ts";
import { storedOrEarlier, storeTogether } from "./store-together.ts";
import { withProject } from "./with-project.ts";

export type Receipt = z.output<typeof receipt>;

export interface DispatcherOptions extends DecisionDeps {
  readonly sql: Sql;
  /**
   * Called after executions were stored or released, so that a worker claims them, or knows when their hold ends. `newcomer`: the
   * project and author of those that can run.
   */
  readonly wake: (newcomer?: { source: string; project: string | null; author: string | null }, isDelayed?: boolean) => void;
  /** Called after an event was stored. */
  readonly stored: () => void;
  /** Called after executions were cancelled, to end those that are running. */
  readonly cancelled: (ids: readonly string[]) => void;
  /** Executes commands in comments; `null`: comments contain none. */
  readonly carryOut: RunCommand | null;
  /** Called after a command was carried out. */
  readonly carriedOut: (effect: Effect, acknowledge?: (isDone: boolean) => void) => void;
  /** Called after a command was stored that waits for what is looked up at its platform. */
  readonly commandWaits: () => void;
  /** Maximum number of concurrent writes of webhooks. */
  readonly concurrency: number;
  /** A signed body counts as a duplicate if the same body arrived within this many hours before. 0: off. */
  readonly replayHours: number;
  /** Whether the database compresses payloads with lz4. */
  readonly hasLz4: boolean;
  readonly log: Pick<Log, "info" | "warn">;
}

/** Stores events with the executions that they start, and carries out their commands. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #storeWebhook: Store;
  /**
   * A separate batch for polls, which delay the webhooks of their slug until their events are stored. One write at a time keeps
   * their order.
   */
  readonly #storeInOrder: Store;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#storeWebhook = storeIn(options, options.concurrency);
    this.#storeInOrder = storeIn(options, 1);
  }

  /** Decides which tasks an event starts and stores the event with its executions. Resolves once they are durable. */
  async accept(received: IncomingEvent): Promise<Receipt> {
    const { sql, routing, carryOut } = this.#options;
    const webhook = await withProject(sql, received, { routing, hasCommands: carryOut !== null });
    const incoming = { ...webhook, id: webhook.id ?? newId(), traceparent: validTraceparent(webhook.traceparent) };
    const attributes = {
      [ownAttributes.event]: incoming.id,
      [ownAttributes.source]: webhook.source,
      [ownAttributes.eventName]: webhook.event.event_name,
    };
    return inTrace(incoming, "webhook", attributes, () => this.#accept(incoming));
  }

  async #accept(incoming: IdentifiedEvent): Promise<Receipt> {
    const { wake, cancelled, carriedOut, commandWaits, log, warn } = this.#options;
    const { arrival, stored, effect, waits } = await inSpan("dispatch", {}, () => this.#decideAndStore(incoming));
    if (typeof stored === "string") return { event_id: stored, status: "duplicate" };
    this.#options.stored();
    if (stored.cancelled.length > 0) cancelled(stored.cancelled);
    // A command that waits is acknowledged later.
    if (effect) carriedOut(effect, waits ? undefined : incoming.acknowledge);
    if (waits) commandWaits();
    const { id, slug, subject } = arrival.event;
    if (stored.outcome === "discarded") log.info("event discarded", { event_id: id, slug, reason: stored.reason });
    else if (arrival.executions.length > stored.held)
      wake(
        { source: arrival.event.source, project: arrival.project, author: authorKey(arrival.event) },
        (arrival.delayMs ?? 0) > 0,
      );
    else if (stored.held > 0) wake();
    if (stored.held > 0)
      warn(`a loop on ${subject} was stopped: executions are held`, {
        event_id: id,
        subject,
        held: stored.held,
        reason: "several events in a row on this issue were reactions to Signalbox's own writes",
      });
    return receiptOf(arrival, stored);
  }

  async #decideAndStore(incoming: IdentifiedEvent): Promise<Dispatched> {
    const { carryOut } = this.#options;
    const { discarded, command, waits, isById, refusal } = commandIn(incoming, carryOut !== null);
    const reason = discarded ?? refusal;
    const named = reason === null ? await namedTriggers(incoming) : [];
    const { inOrder } = incoming;
    const store = async () => {
      const decided = decide(incoming, reason, named, this.#options);
      const arrival = { ...decided, ...identify(incoming, command, this.#options.replayHours) };
      if (carryOut && command && reason === null) return storeCommand(arrival, { command, carryOut, isById }, this.#options);
      if (command && waits) return storePending(arrival, command, this.#options);
      const storeEvent = inOrder || arrival.event.polled ? this.#storeInOrder : this.#storeWebhook;
      return { arrival, stored: await storeEvent(arrival), effect: null };
    };
    return inOrder ? inOrder(store) : store();
  }
}

/** Stores an event with its executions. Returns its outcome, or the id of the event that it duplicates. */
type Store = (arrival: Arrival) => Promise<string | StoredEvent>;

const storeIn = (options: DispatcherOptions, concurrency: number): Store =>
  batch((arrivals: Arrival[]) => storeAll(packBodies(arrivals, options.hasLz4), options), {
    maxItems: 64,
    beside: 8,
    maxSize: 4_000_000,
    concurrency,
    // Each execution has a copy of the text that its agent reads.
    sizeOf: ({ event, content, executions }) => event.body.byteLength + content.length * executions.length,
  });

/** The outcome of each new event, or the id of the earlier one. */
async function storeAll(arrivals: readonly Arrival[], options: DispatcherOptions): Promise<(string | StoredEvent)[]> {
  const { sql, log } = options;
  const all: (string | StoredEvent)[] = [];
  // A close cancels the executions that are stored before it, so it begins a new statement.
  for (const some of splitBefore(arrivals, ({ closes }) => closes === true)) {
    const { first, copies } = splitCopies(some);
    const outcomes = await storeTogether(sql, first, options, log);
    const isNew = (original: Arrival) => typeof outcomes.get(original) === "object";
    for (const [copy, original] of copies) if (isNew(original)) outcomes.set(copy, original.event.id);
    // Copies by content, and copies by body of events that were not stored: if the original has the delivery id of an earlier
    // event, its copy may still be new.
    const rest = some.filter((one) => !outcomes.has(one));
    for (const [copy, outcome] of rest.length > 0 ? await storeTogether(sql, rest, options, log) : [])
      outcomes.set(copy, outcome);
    all.push(...some.map((arrival) => outcomes.get(arrival) as string | StoredEvent));
  }
  return all;
}

function splitBefore<T>(all: readonly T[], begins: (one: T) => boolean): T[][] {
  const parts: T[][] = [];
  for (const one of all) {
    if (parts.length === 0 || begins(one)) parts.push([]);
    parts.at(-1)?.push(one);
  }
  return parts;
}

/** Stores one event in a transaction. Returns its outcome, or the id of the event that it duplicates. */
const storeOne = async (tx: Queryable, arrival: Arrival, limits: ArrivalLimits): Promise<string | StoredEvent> =>
  storedOrEarlier(tx, arrival, await insertArrivals(tx, [arrival], limits));

interface Dispatched {
  readonly arrival: Arrival;
  /** The id of an earlier event, if it is a duplicate. */
  readonly stored: string | StoredEvent;
  /** The outcome of its command. */
  readonly effect: Effect | null;
  /**
   * Whether its command waits for the standing of its author or the name of its issue. A `/stop` was carried out under the id of its
   * issue first.
   */
  readonly waits?: boolean;
}

/** Stores the event of a command and executes the command in one transaction. The event starts no tasks. */
async function storeCommand(
  received: Arrival,
  { command, carryOut, isById }: { readonly command: Command; readonly carryOut: RunCommand; readonly isById: boolean },
  options: DispatcherOptions,
): Promise<Dispatched> {
  const event = { ...received.event, outcome: "dispatched" as const, reason: null };
  const [arrival] = packBodies([{ ...received, event, executions: [] }], options.hasLz4) as [Arrival];
  return options.sql.begin(async (tx) => {
    const stored = await storeOne(tx, arrival, options);
    if (typeof stored === "string" || stored.outcome === "discarded") return { arrival, stored, effect: null };
    const earlier = await findCarriedOut(tx, event, isById);
    if (earlier !== undefined) {
      const refused = await discard(tx, event.id, alreadyCarriedOut(command, earlier));
      return { arrival, stored: { ...stored, ...refused }, effect: null };
    }
    const effect = await carryOut(tx, command, commandPlace(event, command));
    await setEffect(tx, event.id, isById ? stoppedById(effect) : effect);
    if (isById) await insertPending(tx, event, command, effect);
    return { arrival, stored, effect, waits: isById };
  });
}

/** Stores the event of a command that is carried out or refused later. */
async function storePending(received: Arrival, command: Command, options: DispatcherOptions): Promise<Dispatched> {
  const [arrival] = packBodies([received], options.hasLz4) as [Arrival];
  const { event } = arrival;
  return options.sql.begin(async (tx) => {
    const stored = await storeOne(tx, arrival, options);
    // It is discarded for another reason if the comment turns out to be ours.
    const waits = typeof stored === "object" && stored.reason === event.reason;
    if (waits) await insertPending(tx, event, command, null);
    return { arrival, stored, effect: null, waits };
  });
}

function receiptOf({ event, executions }: Arrival, stored: StoredEvent): Receipt {
  if (stored.outcome === "discarded") return { event_id: event.id, status: "discarded" };
  return {
    event_id: event.id,
    status: "accepted",
    canonical_trigger: event.canonical_triggers[0] ?? null,
    canonical_triggers: [...event.canonical_triggers],
    executions: executions.map(({ id, task_id }) => ({ id, task_id })),
  };
}
