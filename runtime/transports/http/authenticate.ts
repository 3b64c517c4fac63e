import type { Scope } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { Actor } from "../../platform/operation.ts";

export type Authenticate = (headers: { authorization?: string | undefined }, scope: Scope) => Promise<Actor>;

export interface Keys {
  /** No key was ever made. */
  isOpen(): Promise<boolean>;
  find(key: string): Promise<Actor | undefined>;
}

const anonymous: Actor = { kind: "anonymous", name: "anonymous", scopes: ["read", "write", "admin"] };

/** Checks the Bearer key of a request, and that it allows what is asked. While there are no keys, everybody may do everything. */
export function createAuthenticate(keys: Keys): Authenticate {
  return async ({ authorization }, scope) => {
    if (scope === "open" || (await keys.isOpen())) return anonymous;
    const [, key] = /^Bearer\s+(\S+)$/i.exec(authorization ?? "") ?? [];
    if (!key) throw problem("unauthenticated", "Send an API key: `Authorization: Bearer <key>`.");
    const actor = await keys.find(key);
    if (!actor) throw problem("unauthenticated", "The API key is not valid, or was revoked.");
    if (actor.scopes.includes(scope)) return actor;
    throw problem("forbidden", `The API key "${actor.name}" has the scopes ${actor.scopes.join(", ")}; this needs ${scope}.`);
  };
}
