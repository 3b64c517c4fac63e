import { isMissingReference, type Queryable, type Sql } from "../platform/database/client.ts";
import type { Arrival, NewEvent, StoredEvent } from "./arrival.ts";
import { type ArrivalLimits, endMissed, findEarlier, insertArrivals, lockSubjects } from "./queries.ts";

/**
 * Stores events in one statement. If a webhook accepts several secrets, its body has several names. Two concurrent copies may each
 * store one of them, but only one copy becomes an event. In a transaction, other statements see the names only once all of them
 * belong to the stored event. A close waits for the edits of its issue that are being stored, then cancels what they started.
 */
export async function storeTogether(
  sql: Sql,
  arrivals: readonly Arrival[],
  limits: ArrivalLimits,
): Promise<Map<Arrival, string | StoredEvent>> {
  const hasClose = arrivals.some((one) => one.closes && !one.event.polled);
  const store = async (on: Queryable) => {
    if (hasClose) await lockSubjects(on, arrivals);
    const stored = await insertArrivals(on, arrivals, limits);
    return Promise.all(arrivals.map(async (one) => [one, await storedOrEarlier(on, one, stored)] as const));
  };
  const isNamedTwice = arrivals.some(({ copy }) => (copy?.scopes.length ?? 0) > 1);
  const isTransaction = isNamedTwice || hasClose;
  const write = () => (isTransaction ? sql.begin(store) : store(sql));
  const outcomes = new Map(await repeatedWithoutDeleted<Awaited<ReturnType<typeof store>>>(write));
  return endPolled(sql, outcomes);
}

/** A polled close cannot wait for edits when it is stored, so it looks for them afterwards. */
async function endPolled(sql: Sql, outcomes: Map<Arrival, string | StoredEvent>): Promise<Map<Arrival, string | StoredEvent>> {
  const closes = [...outcomes].flatMap(([one, stored]) =>
    one.closes && one.event.polled && one.event.subject !== null && typeof stored === "object" ? [{ one, stored }] : [],
  );
  if (closes.length === 0) return outcomes;
  const all = closes.map(({ one }) => one);
  const together = [...outcomes.keys()].map(({ event }) => event.id);
  const missed = await sql.begin((tx) => endMissed(tx, all, together));
  for (const { one, stored } of closes)
    outcomes.set(one, { ...stored, cancelled: [...stored.cancelled, ...(missed.get(one.event.id) ?? [])] });
  return outcomes;
}

/** Maximum number of tries: a statement fails again only if another project is deleted during it. */
const maxTries = 5;

/**
 * Repeats a write that referred to a project that was deleted during it. The next one does not see the project. Otherwise, its
 * deletion would also refuse the webhooks of other projects that are stored together with its own.
 */
async function repeatedWithoutDeleted<T>(write: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!isMissingReference(error) || tries >= maxTries) throw error;
    }
  }
}

export const storedOrEarlier = async (
  sql: Queryable,
  { event, copy, hookDigest }: Arrival,
  stored: ReadonlyMap<string, StoredEvent>,
): Promise<string | StoredEvent> =>
  stored.get(event.id) ?? (await findEarlier(sql, event, copy, hookDigest)) ?? Promise.reject(notStored(event));

const notStored = (event: NewEvent) => new Error(`event ${event.id} was not stored, and no earlier event with its keys exists`);
