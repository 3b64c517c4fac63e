import type { receipt } from "@signalbox/schema/webhooks";
import type { SourceEvent } from "@signalbox/sdk";
import type { z } from "zod";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import { type Arrival, findEarlier, insertArrivals, type NewEvent } from "./queries.ts";
import type { Routing } from "./routing.ts";

export type Receipt = z.output<typeof receipt>;

/** A verified event, on its way in. */
export interface Incoming {
  /** The id that its event gets; a new one without. An event that has it already makes this a duplicate. */
  readonly id?: string;
  readonly source: string;
  /** Path segment of the webhook: the source's name or an integration's id. */
  readonly slug: string;
  readonly event: SourceEvent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Login of the account that Signalbox posts as, where it is known. */
  readonly account: string | null;
  readonly replayOf?: string;
  /** A poll told of it: a duplicate of any event with its change key. */
  readonly polled?: boolean;
  /** Signalbox did it itself and wants it to run: see `Way`. */
  readonly own?: boolean;
  /** Triggers that the webhook mappings of its path name. */
  readonly triggers?: readonly string[];
  /** Why it starts nothing, as whoever read it found. */
  readonly reason?: string;
  /** Stores it after those that came before it. */
  readonly inOrder?: InOrder;
  /** Finds the webhook mappings that match; absent where none concerns it. */
  readonly matching?: () => Promise<readonly { readonly canonical_trigger: string | null }[]>;
}

/** Runs `hand` once those before have been handed on, and lets the next follow; rejects where one of them failed. */
export type InOrder = <T>(hand: () => Promise<T>) => Promise<T>;
type Warn = (message: string, context: Record<string, unknown>) => void;

/** Longest text that is handed to an agent, in characters. */
const maxContent = 200_000;
const shorten = (text: string) =>
  text.length > maxContent ? `${text.slice(0, maxContent)}\n\n[cut: ${text.length} characters in all]` : text;

export interface Dispatcher {
  /** Decides what an event fires and stores all of it. Resolves once it is durable. */
  accept(incoming: Incoming): Promise<Receipt>;
}

export function createDispatcher(options: {
  sql: Sql;
  routing: Routing;
  wake: () => void;
  concurrency: number;
  /** Tells operators of what is not as they meant it. */
  warn: Warn;
  /** Logs what was discarded, and why. */
  note: Warn;
}): Dispatcher {
  const { sql, routing, wake, warn, note } = options;
  const store = (concurrency: number) =>
    batch((arrivals: Arrival[]) => storeAll(sql, arrivals), {
      ...{ maxItems: 64, beside: 8, maxSize: 4_000_000, concurrency },
      // Each execution has a copy of the text that its agent reads.
      sizeOf: ({ event, content, executions }) => event.body.byteLength + content.length * executions.length,
    });
  const storeWebhook = store(options.concurrency);
  // Apart, because a poll holds up the webhooks of its slug until its events are stored. One write at a time keeps their order.
  const storeInOrder = store(1);
  return {
    accept: async (incoming) => {
      const reason = whyNot(incoming);
      const matching = incoming.matching && !reason ? await incoming.matching() : [];
      const special = [...(incoming.triggers ?? []), ...matching.flatMap((hook) => hook.canonical_trigger ?? [])];
      const { inOrder } = incoming;
      const hand = async () => {
        const arrival = decide(incoming, reason, [...new Set(special)], routing, warn);
        return { arrival, earlier: await (inOrder || arrival.event.polled ? storeInOrder : storeWebhook)(arrival) };
      };
      const { arrival, earlier } = await (inOrder ? inOrder(hand) : hand());
      if (earlier) return { event_id: earlier, status: "duplicate" };
      if (arrival.executions.length > 0) wake();
      const { id, slug, outcome, reason: why } = arrival.event;
      if (outcome === "discarded") note("event discarded", { event: id, slug, reason: why });
      return receiptOf(arrival);
    },
  };
}

/** `null` for each event that is new, else the id of the one before. */
async function storeAll(sql: Sql, arrivals: readonly Arrival[]): Promise<(string | null)[]> {
  const stored = await insertArrivals(sql, arrivals);
  return Promise.all(
    arrivals.map(async ({ event }) =>
      stored.has(event.id) ? null : ((await findEarlier(sql, event)) ?? Promise.reject(lost(event))),
    ),
  );
}

const lost = (event: NewEvent) => new Error(`event ${event.id} was neither stored nor found`);

/** The triggers of webhook mappings stand in place of the default mapping's. */
function decide(incoming: Incoming, reason: string | null, special: readonly string[], routing: Routing, warn: Warn): Arrival {
  const { event, source } = incoming;
  const usual = special.length > 0 ? undefined : routing.find(source, event.event_name, event.action);
  const triggers = reason ? [] : usual ? [usual.canonical_trigger] : special;
  const executions = triggers.flatMap((canonical_trigger) => {
    const { tasks, missing } = routing.tasksOf(canonical_trigger);
    if (missing.length > 0) warn("trigger is mapped to tasks that do not exist", { canonical_trigger, missing });
    return tasks.map((task_id) => ({ id: newId(), task_id, canonical_trigger }));
  });
  const named = `${event.event_name || "(unnamed)"}${event.action ? `/${event.action}` : ""}`;
  const unmapped = `no source event mapping for ${source} ${named}`;
  return {
    event: row(incoming, triggers, triggers.length > 0 ? null : (reason ?? unmapped)),
    project: event.subject && storableText(event.subject.project),
    issue: event.subject && storableText(event.subject.issue),
    content: storableText(shorten(event.text)),
    executions: unique(executions),
  };
}

/** Why an event starts nothing, whatever the mappings say. */
function whyNot({ event, account, reason, own }: Incoming): string | null {
  if (reason !== undefined) return reason;
  if (event.missing_field) return `the payload lacks ${event.missing_field}`;
  if (event.marked) return "it carries the marker of something that Signalbox posted";
  if (account !== null && !own && event.actor === account)
    return `it was caused by ${account}, the account that Signalbox posts as`;
  return null;
}

const unique = <T extends { task_id: string }>(executions: readonly T[]): T[] =>
  [...new Map(executions.map((one) => [one.task_id, one] as const).reverse()).values()].reverse();

function row(
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
    headers: JSON.stringify(headers),
    body,
  };
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
