import type { EventAuthor } from "@signalbox/sdk";
import { raceTimeout } from "../platform/abortable.ts";
import type { Log } from "../platform/log.ts";
import type { Connection } from "./connections.ts";

type Standing = EventAuthor["standing"];

/** The standing of accounts in projects, for payloads that do not contain it. */
export interface Standings {
  /**
   * Returns the known standing. If it is unknown or old, requests it from the platform, so that a later call gets the answer. An old
   * standing still restricts its account, but permits nothing: it is `unknown`, because the account may have lost it. Never waits.
   */
  of(connection: Connection, project: string, author: EventAuthor): Standing;
  /** The same, but an old standing never counts. */
  recent(connection: Connection, project: string, author: EventAuthor): Standing;
  /** As `recent`, but waits a few seconds for the platform's answer. Never rejects. */
  find(connection: Connection, project: string, author: EventAuthor): Promise<Standing>;
  close(): void;
}

/** How long an answer counts as recent. */
const freshMs = 10 * 60_000;
/** Wait after a failure, in milliseconds. */
const retryMs = 60_000;
/** Maximum number of concurrent requests of one account; further standings are requested at their next event. */
const maxAsking = 4;
const maxKnown = 10_000;

/** Maximum wait of `find`, in milliseconds. */
const maxWaitMs = 5_000;

interface CachedStanding {
  standing: Standing;
  /** Until then, the standing is recent. */
  recentUntil: number;
  /** The current request, or the last one. */
  request?: Promise<void>;
  /** Until then, no further request is sent. */
  validUntil: number;
}
interface Account {
  readonly cache: Map<string, CachedStanding>;
  pendingLookups: number;
}

export function createStandings(log: Log): Standings {
  const accounts = new WeakMap<Connection, Account>();
  const stop = new AbortController();
  const ask = async (connection: Connection, account: Account, project: string, author: EventAuthor, key: string) => {
    const { cache } = account;
    const before = cache.get(key);
    // Prevents a second request meanwhile.
    const { standing, recentUntil } = before ?? { standing: "unknown", recentUntil: 0 };
    const entry: CachedStanding = { standing, recentUntil, validUntil: Date.now() + freshMs };
    if (cache.size >= maxKnown) cache.delete(cache.keys().next().value as string);
    cache.set(key, entry);
    account.pendingLookups += 1;
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]);
      const call = { signal, connection: connection.settings, key: "standing" };
      entry.standing = (await connection.source.adapter.standing?.({ project, author }, call)) ?? "unknown";
      entry.recentUntil = Date.now() + freshMs;
    } catch (error) {
      entry.validUntil = Date.now() + retryMs;
      if (!stop.signal.aborted)
        log.warn("failed to look up the standing of an author", { source: connection.source.name, error: String(error) });
    } finally {
      account.pendingLookups -= 1;
    }
  };
  /** The known standing of an author. If it is unknown or old, and `mayAsk` allows it, it is requested from the platform. */
  const lookUp = (connection: Connection, project: string, author: EventAuthor, mayAsk: (account: Account) => boolean) => {
    const authorId = author.id ?? author.name;
    if (authorId === null || connection.missingSettings.length > 0 || !connection.source.adapter.standing) return undefined;
    const account: Account = accounts.get(connection) ?? { cache: new Map(), pendingLookups: 0 };
    accounts.set(connection, account);
    const key = JSON.stringify([project, authorId]);
    const found = account.cache.get(key);
    if ((found && found.validUntil > Date.now()) || !mayAsk(account)) return found;
    const request = ask(connection, account, project, author, key);
    const entry = account.cache.get(key);
    if (entry) entry.request = request;
    return entry;
  };
  const hasSlot = ({ pendingLookups }: Account) => pendingLookups < maxAsking;
  return {
    of: (connection, project, author) => {
      if (author.standing !== "unknown") return author.standing;
      const entry = lookUp(connection, project, author, hasSlot);
      return entry && isStranger(entry.standing) ? entry.standing : recentOf(entry);
    },
    recent: (connection, project, author) =>
      author.standing === "unknown" ? recentOf(lookUp(connection, project, author, hasSlot)) : author.standing,
    find: async (connection, project, author) => {
      if (author.standing !== "unknown") return author.standing;
      const entry = lookUp(connection, project, author, () => true);
      if (recentOf(entry) === "unknown" && entry?.request) await raceTimeout(entry.request, maxWaitMs, undefined);
      return recentOf(entry);
    },
    close: () => stop.abort(),
  };
}

const recentOf = (entry: CachedStanding | undefined): Standing =>
  entry && entry.recentUntil > Date.now() ? entry.standing : "unknown";
const isStranger = (standing: Standing): boolean => standing === "contributor" || standing === "none";
