import { randomBytes } from "node:crypto";
import { databaseTime } from "../platform/clock.ts";
import { isUnavailable, type Sql } from "../platform/database/client.ts";
import type { Actor } from "../platform/operation.ts";
import { hashOf } from "./key.ts";
import type { Keyring } from "./keyring.ts";
import { deleteSession, findSession, insertSession } from "./queries.ts";

/** Logins of the console: a random token in a cookie, which is valid as long as the API key of the login. */
export interface Sessions {
  /** `undefined` if the key is not valid. */
  create(key: string): Promise<NewSession | undefined>;
  find(token: string, use?: SessionUse): Promise<Actor | undefined>;
  end(token: string): Promise<void>;
  /** How long a session lasts. */
  readonly seconds: number;
}

interface SessionUse {
  /** An open stream checks its session again, so it is enough that the session was found some seconds ago. */
  readonly isRepeated?: boolean | undefined;
  /** While the database is unavailable, it is enough that this replica found the session before, for requests that only read. */
  readonly lenient?: boolean;
}

interface NewSession {
  readonly token: string;
  readonly actor: Actor;
}

const sessionSeconds = 8 * 3600;
/** Streams check their sessions often, and together they would send many queries. */
const recentMs = 10_000;
/** Maximum number of sessions in memory. */
const maxKnown = 1_000;

interface KnownSession {
  readonly key_hash: string;
  readonly expires_at: string;
  /** Until when a stream does not look for it again. */
  readonly until: number;
}

export function openSessions(sql: Sql, keyring: Pick<Keyring, "find" | "findByHash">): Sessions {
  const known = new Map<string, KnownSession>();
  return {
    seconds: sessionSeconds,
    async create(key) {
      const actor = await keyring.find(key);
      if (!actor) return undefined;
      const token = randomBytes(32).toString("base64url");
      const expires_at = new Date(databaseTime() + sessionSeconds * 1000).toISOString();
      await insertSession(sql, { token_hash: hashOf(token), key_hash: hashOf(key), expires_at });
      return { token, actor };
    },
    async find(token, { isRepeated = false, lenient = false } = {}) {
      const hash = hashOf(token);
      const id = hash.toString("hex");
      const last = known.get(id);
      if (isRepeated && last && databaseTime() < last.until) return keyring.findByHash(last.key_hash, lenient);
      const session = await findSession(sql, hash).catch((error) => {
        if (lenient && last && databaseTime() < Date.parse(last.expires_at) && isUnavailable(error)) return last;
        throw error;
      });
      if (!session) {
        known.delete(id);
        return undefined;
      }
      const { key_hash, expires_at } = session;
      const until = isRepeated ? Math.min(databaseTime() + recentMs, Date.parse(expires_at)) : (last?.until ?? 0);
      if (!last && known.size >= maxKnown) known.clear();
      known.set(id, { key_hash, expires_at, until });
      return keyring.findByHash(key_hash, lenient);
    },
    end: async (token) => {
      const hash = hashOf(token);
      await deleteSession(sql, hash);
      known.delete(hash.toString("hex"));
    },
  };
}
