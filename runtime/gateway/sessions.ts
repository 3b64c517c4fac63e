import { createHash, randomBytes } from "node:crypto";
import { problem } from "@signalbox/schema/problem";
import { matchesSecret } from "../agents/secret.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Limits } from "./limits.ts";
import { addCapabilities, findGatewayAgent, findSession, insertSession, type Session } from "./queries.ts";

/** How long a session lasts without a heartbeat, seconds. */
export const sessionSeconds = 3600;

/** What is stored of a session id: whoever reads the database cannot speak for an agent. */
const hashOf = (sessionId: string) => createHash("sha256").update(sessionId).digest("hex");

export interface Registration {
  readonly agent_id: string;
  readonly secret: string;
  readonly capabilities: readonly string[];
  readonly version: string;
}

/**
 * Opens a session. With `auth_enabled` the secret must be right; wrong ones are slowed down, on all replicas together.
 */
export async function register(sql: Sql, limits: Limits, input: Registration) {
  const agent = await findGatewayAgent(sql, input.agent_id);
  if (!agent) throw problem("not_found", `There is no agent "${input.agent_id}".`, { field: "agent_id" });
  const isRight = () => matchesSecret(input.secret, agent.auth_secret_hash);
  if (agent.auth_enabled && !(await limits.secret(agent.id, isRight)))
    throw problem("unauthenticated", `The secret of the agent "${agent.id}" is not right.`, { field: "secret" });
  if (input.capabilities.length > 0) await addCapabilities(sql, agent.id, input.capabilities);
  const session_id = randomBytes(32).toString("base64url");
  const secret_hash = agent.auth_enabled ? agent.auth_secret_hash : null;
  const expires_at = await insertSession(
    sql,
    { id_hash: hashOf(session_id), agent_id: agent.id, secret_hash, client_version: input.version || null },
    sessionSeconds,
  );
  return { session_id, trust_level: agent.trust_level, expires_at, requests_per_minute: limits.perMinute(agent.trust_level) };
}

/** The session of a call, counted against the agent's rate limit. */
export async function requireSession(sql: Sql, limits: Limits, sessionId: string): Promise<Session> {
  const session = await findSession(sql, hashOf(sessionId));
  if (!session)
    throw problem("unauthenticated", "The session is unknown, has expired or was revoked. Call RegisterAgent for a new one.");
  await limits.count(session.agent_id, session.trust_level);
  return session;
}
