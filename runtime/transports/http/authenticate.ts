import type { Scope } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { Keyring } from "../../keys/keyring.ts";
import type { Sessions } from "../../keys/sessions.ts";
import type { Report } from "../../platform/log.ts";
import type { Actor } from "../../platform/operation.ts";

/** The credentials of a request. */
export interface Proof {
  readonly authorization?: string | undefined;
  /** Token of a console session, from its cookie. */
  readonly session?: string | undefined;
  /** Address of the caller; `null` if unknown. */
  readonly address?: () => string | null;
  /** The caller only asks whether it is authenticated, so a missing credential is not reported. */
  readonly mayBeMissing?: true;
  /** The credentials of an open stream are checked again. */
  readonly isRepeated?: true;
}

export type Authenticate = (proof: Proof, scope: Scope) => Promise<Actor>;

export const anonymous: Actor = { kind: "anonymous", name: "anonymous", scopes: ["agent", "read", "write", "admin"] };
/** A caller without a key, for an operation that accepts other credentials. */
const withoutKey: Actor = { kind: "anonymous", name: "unproven", scopes: [] };

const invalid = "The API key is not valid, has expired, or was revoked.";
const ended = "The session has ended, or its API key was revoked. Log in again.";
const missing = "The request has no API key.";

/** The beginning of a key as lists show it; `null` for a text that is no key of ours. */
const hintOf = (key: string): string | null => (key.startsWith("sbx_") ? `${key.slice(0, 8)}…` : null);

/**
 * Authenticates a request and checks its scope. While there are no keys, every caller has full access. An operation with the
 * scope `agent` checks the caller itself.
 */
export function createAuthenticate(
  keys: Pick<Keyring, "isOpen" | "find">,
  sessions?: Pick<Sessions, "find">,
  warn?: Report,
): Authenticate {
  const report = (reason: string, { address }: Proof, key: string | null = null) =>
    warn?.("a request was refused", { reason, key, address: address?.() ?? null });
  return async (proof, scope) => {
    const { authorization, session } = proof;
    if (scope === "open" || (await keys.isOpen(scope === "read"))) return anonymous;
    if (scope === "agent" && authorization === undefined) return withoutKey;
    if (authorization === undefined && session !== undefined) {
      const actor = await sessions?.find(session, { isRepeated: proof.isRepeated, lenient: scope === "read" });
      if (!actor) {
        report(ended, proof);
        throw problem("unauthenticated", ended);
      }
      return requireScope(actor, scope);
    }
    const [, key] = /^Bearer\s+(\S+)$/i.exec(authorization ?? "") ?? [];
    if (!key) {
      if (!proof.mayBeMissing) report(missing, proof);
      throw problem("unauthenticated", "Send an API key: `Authorization: Bearer <key>`.");
    }
    const actor = await keys.find(key, scope === "read");
    if (!actor) {
      report(invalid, proof, hintOf(key));
      throw problem("unauthenticated", invalid);
    }
    return requireScope(actor, scope);
  };
}

/**
 * Returns the caller. Throws `forbidden` if its key is restricted to projects, because the operation is not about one project.
 */
export function requireUnrestricted(actor: Actor): Actor {
  if (!actor.projects) return actor;
  throw problem("forbidden", `The API key "${actor.name}" is restricted to projects; this request is not about one project.`);
}

function requireScope(actor: Actor, scope: Exclude<Scope, "open">): Actor {
  if (scope === "agent" || actor.scopes.includes(scope)) return actor;
  throw problem(
    "forbidden",
    `The API key "${actor.name}" has the scopes ${actor.scopes.join(", ")}; this request needs the scope ${scope}.`,
  );
}
