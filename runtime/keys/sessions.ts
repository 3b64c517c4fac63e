import { randomBytes } from "node:crypto";
import type { Sql } from "../platform/database/client.ts";
import type { Actor } from "../platform/operation.ts";
import { hashOf } from "./key.ts";
import type { Keyring } from "./keyring.ts";
import { deleteSession, findSession, insertSession } from "./queries.ts";

/** Logins of the console: a random token in a cookie, which is valid as long as the API key of the login. */
interface Sessions {
  /** `undefined` if the key is not valid. */
  create(key: string): Promise<NewSession | undefined>;
  /** `isRepeated`: an open stream checks its session again, so it is enough that the session was found some seconds ago. */
  find(token: string, isRepeated?: boolean): Promise<Actor | undefined>;
  end(token: string): Promise<void>;
  /** How long a session lasts. */
  readonly seconds: number;
}

interface NewSession {
  readonly token: string;
  readonly actor: Actor;
}

const sessionSeconds = 8 * 3600;
/** Streams check their sessions often, and together they would send many queries. */
const recentMs = 10_000;
/** Sessions of streams that are open or ended recently. */
const maxRecent = 1_000;

export function openSessions(sql: Sql, keyring: Pick<Keyring, "find" | "findByHash">): Sessions {
  const recent = new Map<string, { readonly key_hash: string; readonly until: number }>();
  return {
    seconds: sessionSeconds,
    async create(key) {
      const actor = await keyring.find(key);
      if (!actor) return undefined;
      const token = randomBytes(32).toString("base64url");
      const expires_at = new Date(Date.now() + sessionSeconds * 1000).toISOString();
      await insertSession(sql, { token_hash: hashOf(token), key_hash: hashOf(key), expires_at });
      return { token, actor };
    },
    async find(token, isRepeated = false) {
      const hash = hashOf(token);
      const id = hash.toString("hex");
      const known = isRepeated ? recent.get(id) : undefined;
      if (known && Date.now() < known.until) return keyring.findByHash(known.key_hash);
      recent.delete(id);
      const session = await findSession(sql, hash);
      if (!session) return undefined;
      if (recent.size >= maxRecent) recent.clear();
      const until = Math.min(Date.now() + recentMs, Date.parse(session.expires_at));
      if (isRepeated) recent.set(id, { key_hash: session.key_hash, until });
      return keyring.findByHash(session.key_hash);
    },
    end: async (token) => {
      const hash = hashOf(token);
      await deleteSession(sql, hash);
      recent.delete(hash.toString("hex"));
    },
  };
}
