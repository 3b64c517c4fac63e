import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Actor } from "../platform/operation.ts";
import { hashOf } from "./key.ts";
import { allKeys, type KeyScope, markUsed, type StoredKey } from "./queries.ts";

/** The keys that are good now: those of `API_KEYS`, and those in the database. */
export interface Keyring {
  /** Whether no key was ever made, so that everybody is served; as of the last look. */
  readonly open: boolean;
  /** The same, after a look where the last one is older than a moment. */
  isOpen(): Promise<boolean>;
  find(key: string): Promise<Actor | undefined>;
}

/** Oldest view of the keys that is trusted: what a lost notification, or the command line, can be late by. */
const trustMs = 2_000;

const implied: Record<KeyScope, readonly KeyScope[]> = {
  read: ["read"],
  write: ["read", "write"],
  admin: ["read", "write", "admin"],
};
const actor = (name: string, scopes: readonly KeyScope[]): Actor => ({
  kind: "key",
  name,
  scopes: [...new Set(scopes.flatMap((scope) => implied[scope]))],
});

export async function openKeyring(sql: Sql, bus: Bus, log: Log, configured: readonly string[]): Promise<Keyring> {
  const fixed = new Map(configured.map((key) => [hashOf(key).toString("hex"), actor("API_KEYS", ["admin"])]));
  let stored = new Map<string, StoredKey>();
  let ever = false;
  let readAt = 0;
  let reading: Promise<void> | null = null;

  const read = async () => {
    const began = performance.now();
    const all = await allKeys(sql);
    stored = new Map(all.filter((key) => !key.revoked).map((key) => [key.hash, key]));
    if (!ever && all.length > 0 && readAt > 0 && fixed.size === 0) log.info("an API key was made: requests need one from now on");
    ever ||= all.length > 0;
    readAt = began;
  };
  /** One look at a time; whoever asks meanwhile waits for the same. */
  const look = () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
  const fresh = () => (performance.now() - readAt > trustMs ? look() : undefined);

  // A look that is under way may have missed the change: another one follows it.
  bus.on("keys", async () => {
    await reading?.catch(() => {});
    await look();
  });
  await look();
  return {
    get open() {
      return fixed.size === 0 && !ever;
    },
    async isOpen() {
      if (fixed.size > 0 || ever) return false;
      await fresh();
      return !ever;
    },
    async find(key) {
      const hash = hashOf(key).toString("hex");
      const known = fixed.get(hash);
      if (known) return known;
      await fresh();
      const row = stored.get(hash);
      if (!row) return undefined;
      if (row.last_used_at === null || Date.now() - Date.parse(row.last_used_at) > 60_000) {
        stored.set(hash, { ...row, last_used_at: new Date().toISOString() });
        markUsed(sql, row.id).catch((error) => log.warn("the use of an API key was not noted", { key: row.name, error }));
      }
      return actor(row.name, row.scopes);
    },
  };
}
