import { createHash } from "node:crypto";
import type { receipt } from "@signalbox/schema/webhooks";
import type { EventAuthor, SourceEvent } from "@signalbox/sdk";
import type { z } from "zod";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { type Arrival, findEarlier, insertArrivals, type NewEvent } from "./queries.ts";
import type { Routing } from "./routing.ts";

export type Receipt = z.output<typeof receipt>;

/** An authenticated event that is to be dispatched. */
export interface Incoming {
  /** The id that its event gets; a new one where absent. If an event with this id exists, this one is a duplicate. */
  readonly id?: string;
  readonly source: string;
  /** Path segment of the webhook: the source's name or an integration's id. */
  readonly slug: string;
  readonly event: SourceEvent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Its source checked a secret or signature. */
  readonly signed?: boolean;
  /** Login of the account that Signalbox posts as, where it is known. */
  readonly account: string | null;
  readonly replayOf?: string;
  /** It came from a poll: a duplicate of any event with the same change key. */
  readonly polled?: boolean;
  /** Signalbox caused it and wants it to run: see `DeliveryContext`. */
  readonly own?: boolean;
  /** Triggers that the webhook mappings of its path name. */
  readonly triggers?: readonly string[];
  /** Why it starts nothing, where parsing or authentication found a reason. */
  readonly reason?: string;
  /** Stores it after the events that arrived before it. */
  readonly inOrder?: InOrder;
  /** Finds the webhook mappings whose filter matches; absent where no mapping concerns the event. */
  readonly matching?: () => Promise<readonly { readonly canonical_trigger: string | null }[]>;
}

/** Runs `store` after the earlier events were stored, then lets the next one follow. Rejects where an earlier one failed. */
export type InOrder = <T>(store: () => Promise<T>) => Promise<T>;
type Report = (message: string, context: Record<string, unknown>) => void;

/** Longest text that an agent reads, in characters. */
const maxContent = 200_000;
const shorten = (text: string) =>
  text.length > maxContent ? `${text.slice(0, maxContent)}\n\n[cut: ${text.length} characters in all]` : text;

export interface Dispatcher {
  /** Decides which tasks an event starts and stores the event with its executions. Resolves once they are durable. */
  accept(incoming: Incoming): Promise<Receipt>;
}

export interface DispatcherOptions {
  readonly sql: Sql;
  readonly routing: Routing;
  /** Executions were stored: a worker can take them. */
  readonly wake: () => void;
  /** Writes of webhooks that may run at the same time. */
  readonly concurrency: number;
  /** A signed body that arrived within so many hours before is a duplicate; 0: off. */
  readonly replayHours: number;
  /** Writes a warning to the watchdog: a mapping does not do what its author meant. */
  readonly warn: Report;
  readonly log: Pick<Log, "info">;
}

export const createDispatcher = (options: DispatcherOptions): Dispatcher => new EventDispatcher(options);

class EventDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #storeWebhook: Store;
  /** Separate, because a poll delays the webhooks of its slug until its events are stored. One write at a time keeps their order. */
  readonly #storeInOrder: Store;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#storeWebhook = storeIn(options, options.concurrency);
    this.#storeInOrder = storeIn(options, 1);
  }

  async accept(incoming: Incoming): Promise<Receipt> {
    const { wake, log } = this.#options;
    const { arrival, earlier } = await this.#decideAndStore(incoming);
    if (earlier) return { event_id: earlier, status: "duplicate" };
    if (arrival.executions.length > 0) wake();
    const { id, slug, outcome, reason } = arrival.event;
    if (outcome === "discarded") log.info("event discarded", { event: id, slug, reason });
    return receiptOf(arrival);
  }

  async #decideAndStore(incoming: Incoming): Promise<{ arrival: Arrival; earlier: string | null }> {
    const { routing, warn, replayHours } = this.#options;
    const reason = reasonToDiscard(incoming);
    const matching = incoming.matching && !reason ? await incoming.matching() : [];
    const named = [...(incoming.triggers ?? []), ...matching.flatMap((rule) => rule.canonical_trigger ?? [])];
    const { inOrder } = incoming;
    const decideAndStore = async () => {
      const digest = replayHours > 0 && incoming.signed ? digestOf(incoming.body) : null;
      const arrival = { ...decide(incoming, reason, [...new Set(named)], routing, warn), digest };
      const store = inOrder || arrival.event.polled ? this.#storeInOrder : this.#storeWebhook;
      return { arrival, earlier: await store(arrival) };
    };
    return inOrder ? inOrder(decideAndStore) : decideAndStore();
  }
}

/** Stores an event with its executions; answers the id of the event that it duplicates, else `null`. */
type Store = (arrival: Arrival) => Promise<string | null>;

const storeIn = ({ sql, replayHours }: DispatcherOptions, concurrency: number): Store =>
  batch((arrivals: Arrival[]) => storeAll(sql, arrivals, replayHours), {
    ...{ maxItems: 64, beside: 8, maxSize: 4_000_000, concurrency },
    // Each execution has a copy of the text that its agent reads.
    sizeOf: ({ event, content, executions }) => event.body.byteLength + content.length * executions.length,
  });

/** `null` for each event that is new, else the id of the earlier one. */
async function storeAll(sql: Sql, arrivals: readonly Arrival[], replayHours: number): Promise<(string | null)[]> {
  const stored = await insertArrivals(sql, arrivals, replayHours);
  return Promise.all(
    arrivals.map(async ({ event, digest }) =>
      stored.has(event.id) ? null : ((await findEarlier(sql, event, digest)) ?? Promise.reject(lost(event))),
    ),
  );
}

const digestOf = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex");

const lost = (event: NewEvent) => new Error(`event ${event.id} was not stored, and no earlier event with its keys exists`);

/** Triggers that webhook mappings name replace the trigger of the source event mapping. */
function decide(incoming: Incoming, reason: string | null, named: readonly string[], routing: Routing, warn: Report): Arrival {
  const { event, source } = incoming;
  const mapping = named.length > 0 ? undefined : routing.find(source, event.event_name, event.action);
  const triggers = reason ? [] : mapping ? [mapping.canonical_trigger] : named;
  const executions = triggers.flatMap((canonical_trigger) => {
    const { tasks, missing } = routing.tasksOf(canonical_trigger);
    if (missing.length > 0) warn("a trigger is mapped to tasks that do not exist", { canonical_trigger, missing });
    return tasks.map((task_id) => ({ id: newId(), task_id, canonical_trigger }));
  });
  const eventName = `${event.event_name || "(unnamed)"}${event.action ? `/${event.action}` : ""}`;
  const unmapped = `no source event mapping for ${source} ${eventName}`;
  return {
    event: rowOf(incoming, triggers, triggers.length > 0 ? null : (reason ?? unmapped)),
    project: event.subject && storableText(event.subject.project),
    issue: event.subject && storableText(event.subject.issue),
    content: storableText(shorten(event.text)),
    executions: unique(executions),
  };
}

/** Why an event starts nothing, whatever the mappings say. */
function reasonToDiscard({ event, account, reason, own }: Incoming): string | null {
  if (reason !== undefined) return reason;
  if (event.ignored) return event.ignored;
  if (event.missing_field) return `the payload is missing ${event.missing_field}`;
  if (event.marked) return "it carries the marker of a comment that Signalbox posted";
  if (account !== null && !own && event.actor === account)
    return `it was caused by ${account}, the account that Signalbox posts as`;
  return null;
}

const unique = <T extends { task_id: string }>(executions: readonly T[]): T[] =>
  [...new Map(executions.map((one) => [one.task_id, one] as const).reverse()).values()].reverse();

function rowOf(
  { id, source, slug, event, headers, body, replayOf, polled = false, own = false }: Incoming,
  triggers: readonly string[],
  reason: string | null,
): NewEvent {
  const text = (value: string | null) => value && storableText(value).slice(0, 500);
  return {
    id: id ?? newId(),
    source,
    slug,
    delivery_id: replayOf || own ? null : text(event.delivery_id),
    change_key: replayOf || own ? null : text(event.change_key ?? null),
    event_name: text(event.event_name),
    action: text(event.action),
    actor: text(event.actor),
    subject: event.subject && text(`${source}:${event.subject.project}#${event.subject.issue}`),
    canonical_triggers: triggers,
    outcome: reason === null ? "dispatched" : "discarded",
    reason: text(reason),
    replay_of: replayOf ?? null,
    polled,
    author: event.author ? authorOf(event.author) : null,
    occurred_at: instant(event.occurred_at),
    hook_id: text(event.hook_id ?? null),
    snapshot: event.snapshot ?? false,
    private: event.private ?? false,
    comment: text(event.comment ?? null),
    thread: text(event.thread ?? null),
    headers: JSON.stringify(headers),
    body,
  };
}

function authorOf({ id, name, kind, standing }: EventAuthor): EventAuthor {
  const text = (value: string | null) => value && storableText(value).slice(0, 500);
  return { id: text(id), name: text(name), kind, standing };
}

/** ISO 8601 in UTC; `null` for what is no time that the database can store. */
function instant(text: string | null): string | null {
  const ms = text === null ? Number.NaN : Date.parse(text);
  return ms >= 0 && ms < 253_402_300_800_000 ? new Date(ms).toISOString() : null;
}

function receiptOf({ event, executions }: Arrival): Receipt {
  if (event.outcome === "discarded") return { event_id: event.id, status: "discarded" };
  return {
    event_id: event.id,
    status: "accepted",
    canonical_trigger: event.canonical_triggers[0] ?? null,
    canonical_triggers: [...event.canonical_triggers],
    executions: executions.map(({ id, task_id }) => ({ id, task_id })),
  };
}
