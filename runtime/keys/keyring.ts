import type { Bus } from "../platform/bus.ts";
import { databaseTime } from "../platform/clock.ts";
import { isUnavailable, type Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Actor } from "../platform/operation.ts";
import { hashOf } from "./key.ts";
import { allKeys, type KeyScope, markUsed, type StoredKey } from "./queries.ts";

/** The valid API keys: those of `API_KEYS`, and those in the database. */
export interface Keyring {
  /** Whether no key has ever existed, so that every request is accepted; as of the last read. */
  readonly open: boolean;
  /**
   * The same, from a view that is at most two seconds old. `lenient`: while the database is unavailable, uses an older view, for
   * requests that only read, because the status of the service must be visible then, too.
   */
  isOpen(lenient?: boolean): Promise<boolean>;
  find(key: string, lenient?: boolean): Promise<Actor | undefined>;
  /** The same by the SHA-256 of the key, in hexadecimal. */
  findByHash(hash: string, lenient?: boolean): Promise<Actor | undefined>;
  /** SHA-256 of each key of `API_KEYS`, in hexadecimal. */
  readonly configuredHashes: readonly string[];
}

/** Maximum age of the view of the keys, in milliseconds: a message may be lost, and the command line sends none. */
const maxAgeMs = 2_000;

const impliedScopes: Record<KeyScope, readonly KeyScope[]> = {
  read: ["read"],
  write: ["read", "write"],
  admin: ["agent", "read", "write", "admin"],
  agent: ["agent"],
};
const actor = (
  name: string,
  key_hash: string,
  scopes: readonly KeyScope[],
  { agents, projects }: Pick<Actor, "agents" | "projects"> = {},
): Actor => ({
  kind: "key",
  name,
  key_hash,
  agents: agents ?? null,
  projects: projects ?? null,
  scopes: [...new Set(scopes.flatMap((scope) => impliedScopes[scope]))],
});
/** Keys of `API_KEYS` have no names. */
const configuredName = "API_KEYS";
const hexOf = (key: string): string => hashOf(key).toString("hex");
const hasExpired = ({ expires_at }: StoredKey): boolean => expires_at !== null && Date.parse(expires_at) <= databaseTime();

export async function openKeyring(sql: Sql, bus: Bus, log: Log, configured: readonly string[]): Promise<Keyring> {
  const configuredKeys = new Map(configured.map((key) => [hexOf(key), actor(configuredName, hexOf(key), ["admin"])]));
  let storedKeys = new Map<string, StoredKey>();
  let hasExisted = false;
  let readAt = 0;
  let currentRead: Promise<void> | null = null;

  const read = async () => {
    const startedAt = performance.now();
    const all = await allKeys(sql);
    storedKeys = new Map(all.filter((key) => !key.revoked).map((key) => [key.hash, key]));
    if (!hasExisted && all.length > 0 && readAt > 0 && configuredKeys.size === 0)
      log.info("the first API key was created: requests need a key from now on");
    hasExisted ||= all.length > 0;
    readAt = startedAt;
  };
  /** One read at a time; concurrent callers wait for the same one. */
  const reload = () => {
    currentRead ??= read().finally(() => {
      currentRead = null;
    });
    return currentRead;
  };
  const refresh = (lenient: boolean) => {
    if (performance.now() - readAt <= maxAgeMs) return undefined;
    return reload().catch((error) => {
      if (!lenient || !isUnavailable(error)) throw error;
    });
  };

  // A read in progress may have missed the change, so another one follows.
  bus.on("keys", async () => {
    await currentRead?.catch(() => {});
    await reload();
  });
  await reload();
  const findByHash = async (hash: string, lenient = false) => {
    const known = configuredKeys.get(hash);
    if (known) return known;
    await refresh(lenient);
    const row = storedKeys.get(hash);
    if (!row || hasExpired(row)) return undefined;
    if (row.last_used_at === null || Date.now() - Date.parse(row.last_used_at) > 60_000) {
      storedKeys.set(hash, { ...row, last_used_at: new Date().toISOString() });
      markUsed(sql, row.id).catch((error) => log.warn("failed to record the use of an API key", { key: row.name, error }));
    }
    return actor(row.name, hash, row.scopes, { agents: row.agent_ids, projects: row.projects });
  };
  return {
    configuredHashes: [...configuredKeys.keys()],
    get open() {
      return configuredKeys.size === 0 && !hasExisted;
    },
    async isOpen(lenient = false) {
      if (configuredKeys.size > 0 || hasExisted) return false;
      await refresh(lenient);
      return !hasExisted;
    },
    find: (key, lenient) => findByHash(hexOf(key), lenient),
    findByHash,
  };
}
