import { createHash, timingSafeEqual } from "node:crypto";
import type { Scope } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { Actor } from "../operations.ts";

export type Authenticate = (headers: { authorization?: string | undefined }, scope: Scope) => Promise<Actor>;

const digest = (key: string) => createHash("sha256").update(key).digest();
const everything = ["read", "write", "admin"] as const;
const anonymous: Actor = { kind: "anonymous", name: "anonymous", scopes: everything };

/** Checks the Bearer key of a request against the configured ones. With no key configured, everybody may do everything. */
export function createAuthenticate(keys: readonly string[]): Authenticate {
  const digests = keys.map(digest);
  return async ({ authorization }, scope) => {
    if (digests.length === 0 || scope === "open") return anonymous;
    const [, key] = /^Bearer\s+(\S+)$/i.exec(authorization ?? "") ?? [];
    if (!key) throw problem("unauthenticated", "Send an API key: `Authorization: Bearer <key>`.");
    const given = digest(key);
    if (!digests.some((known) => timingSafeEqual(known, given))) throw problem("unauthenticated", "The API key is not valid.");
    return { kind: "key", name: "API_KEYS", scopes: everything };
  };
}
