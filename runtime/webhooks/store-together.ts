import { isMissingReference, type Queryable, type Sql } from "../platform/database/client.ts";
import { retryOnDeadlock } from "../platform/database/retry-on-deadlock.ts";
import type { Log } from "../platform/log.ts";
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
  log: Pick<Log, "warn">,
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
  const missed = await endPolled(sql, outcomes).catch((error: unknown) => {
    log.warn("failed to cancel the executions of edits that were stored at the same moment as a polled close", { error });
    return new Map<string, readonly string[]>();
  });
  for (const [one, stored] of outcomes)
    if (typeof stored === "object")
      outcomes.set(one, { ...stored, cancelled: [...stored.cancelled, ...(missed.get(stored.id) ?? [])] });
  return outcomes;
}

/**
 * A polled close cannot wait for edits when it is stored, so it looks for them afterwards. The events are stored by then, so only this
 * transaction is repeated. Returns the cancelled executions by the id of their close.
 */
async function endPolled(
  sql: Sql,
  outcomes: ReadonlyMap<Arrival, string | StoredEvent>,
): Promise<Map<string, readonly string[]>> {
  const closes = [...outcomes].flatMap(([one, stored]) =>
    one.closes && one.event.polled && one.event.subject !== null && typeof stored === "object" ? [one] : [],
  );
  if (closes.length === 0) return new Map();
  const together = [...outcomes.keys()].map(({ event }) => event.id);
  return retryOnDeadlock(() => sql.begin((tx) => endMissed(tx, closes, together)));
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
