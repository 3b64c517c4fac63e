import { raceTimeout } from "../platform/abortable.ts";
import type { Log } from "../platform/log.ts";
import type { Connection, Connections } from "./connections.ts";

/** The account with which each connection posts. Events that we caused ourselves are recognised by it. */
export interface Accounts {
  /** Login of the account; `null` while it is unknown. Waits only briefly, because the caller answers a webhook. */
  of(connection: Connection): Promise<string | null>;
  /** The known logins of all accounts at a source, including those of integrations. */
  ofSource(source: string): Promise<readonly string[]>;
  close(): void;
}

const freshMs = 10 * 60_000;
const retryMs = 15_000;
const waitMs = 60;

interface KnownAccount {
  login: string | null;
  fetchedAt: number;
  pendingRequest: Promise<unknown> | null;
}

/**
 * Requested once and cached. If a tracker does not respond, it is queried again later; until then, the marker identifies our
 * events.
 */
export function createAccounts(log: Log, connections: Pick<Connections, "ofSource">): Accounts {
  // Cached per connection, because a connection with other credentials may be another account.
  const cachedAccounts = new WeakMap<Connection, KnownAccount>();
  const stop = new AbortController();
  const ask = async ({ source, settings }: Connection, entry: KnownAccount) => {
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]);
      entry.login = await source.adapter.account({ signal, connection: settings, key: "account" });
      entry.fetchedAt = Date.now();
    } catch (error) {
      entry.fetchedAt = Date.now() - freshMs + retryMs;
      if (!stop.signal.aborted)
        log.warn("the tracker did not say which account the credential belongs to", {
          source: source.name,
          error: String(error),
        });
    }
  };
  const of = async (connection: Connection): Promise<string | null> => {
    if (connection.missingSettings.length > 0) return null;
    const entry = cachedAccounts.get(connection) ?? { login: null, fetchedAt: 0, pendingRequest: null };
    cachedAccounts.set(connection, entry);
    if (!entry.pendingRequest && Date.now() - entry.fetchedAt > freshMs)
      entry.pendingRequest = ask(connection, entry).finally(() => {
        entry.pendingRequest = null;
      });
    if (entry.login === null && entry.pendingRequest && entry.fetchedAt === 0)
      await raceTimeout(entry.pendingRequest, waitMs, null);
    return entry.login;
  };
  return {
    of,
    ofSource: async (source) => (await Promise.all(connections.ofSource(source).map(of))).filter((login) => login !== null),
    close: () => stop.abort(),
  };
}
