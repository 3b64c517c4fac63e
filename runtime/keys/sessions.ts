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
  find(token: string): Promise<Actor | undefined>;
  end(token: string): Promise<void>;
  /** How long a session lasts. */
  readonly seconds: number;
}

interface NewSession {
  readonly token: string;
  readonly actor: Actor;
}

const sessionSeconds = 8 * 3600;

export function openSessions(sql: Sql, keyring: Pick<Keyring, "find" | "findByHash">): Sessions {
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
    async find(token) {
      const session = await findSession(sql, hashOf(token));
      return session && keyring.findByHash(session.key_hash);
    },
    end: (token) => deleteSession(sql, hashOf(token)),
  };
}
