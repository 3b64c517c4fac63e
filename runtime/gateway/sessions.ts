import { randomBytes } from "node:crypto";
import { problem } from "@signalbox/schema/problem";
import type { Sql } from "../platform/database/client.ts";
import { sha256Of } from "../platform/digest.ts";
import type { Report } from "../platform/log.ts";
import type { Actor, Context } from "../platform/operation.ts";
import type { Limits } from "./limits.ts";
import {
  addCapabilities,
  type ConfiguredKeys,
  findGatewayAgent,
  findSession,
  type GatewayAgent,
  insertSession,
  type Session,
} from "./queries.ts";
import type { Secrets } from "./secrets.ts";

/** How long a session lasts without a heartbeat, seconds. */
export const sessionSeconds = 3600;

/** The members of the keyring that the gateway uses. */
interface GatewayKeys {
  /** Whether there are no API keys. */
  isOpen(): Promise<boolean>;
  readonly configuredHashes: ConfiguredKeys;
}

export interface SessionOptions {
  readonly limits: Limits;
  readonly secrets: Secrets;
  readonly keys: GatewayKeys;
  readonly warn: Report;
}

interface Registration {
  readonly agent_id: string;
  readonly secret: string;
  readonly capabilities: readonly string[];
  readonly version: string;
}

/** Opens a session for an agent that proves who it is. */
export async function register(input: Registration, context: Context, options: SessionOptions) {
  const { sql } = context;
  const agent = await findGatewayAgent(sql, input.agent_id);
  const proof = await prove(input, agent, context, options);
  if (!agent) throw problem("not_found", `There is no agent "${input.agent_id}".`, { field: "agent_id" });
  if (input.capabilities.length > 0) await addCapabilities(sql, agent.id, input.capabilities);
  const session_id = randomBytes(32).toString("base64url");
  // With the hash, a reader of the database cannot act as the agent.
  const session = { id_hash: sha256Of(session_id), agent_id: agent.id, client_version: input.version || null, ...proof };
  const expires_at = await insertSession(sql, session, sessionSeconds);
  const requests_per_minute = options.limits.perMinute(agent.trust_level);
  return { session_id, trust_level: agent.trust_level, expires_at, requests_per_minute };
}

const noProof = { secret_hash: null, key_hash: null };

/**
 * The proof of a registration: an API key of the scope `agent`, or the agent's secret. Without API keys an agent with
 * `auth_enabled: false` needs none. With keys, an agent that does not exist is refused like one whose secret is wrong.
 */
async function prove(
  { agent_id, secret }: Registration,
  agent: GatewayAgent | undefined,
  { actor, address }: Context,
  { secrets, keys, warn }: SessionOptions,
): Promise<{ secret_hash: string | null; key_hash: string | null }> {
  const open = await keys.isOpen();
  if (!open && mayRegister(actor, agent_id)) return { ...noProof, key_hash: actor.key_hash ?? null };
  if (open && !agent?.auth_enabled) return noProof;
  const hash = agent?.auth_secret_hash ?? null;
  const from = address?.() ?? null;
  const refuse = (error: Error): never => {
    // Without the id of an invented agent, of which a stranger can send any number.
    const reason = agent ? error.message : "There is no such agent.";
    warn("an agent was refused", { agent_id: agent?.id ?? null, address: from, reason });
    throw error;
  };
  if (secret !== "") {
    if (await secrets.isRight({ agentId: agent_id, address: from, secret, hash }).catch(refuse))
      return { ...noProof, secret_hash: hash };
    return refuse(problem("unauthenticated", `The secret of the agent "${agent_id}" is wrong.`, { field: "secret" }));
  }
  if (actor.kind === "key")
    return refuse(problem("forbidden", `The API key "${actor.name}" cannot register the agent "${agent_id}".`));
  const orKey = open ? "" : ", or an API key with the scope agent: `Authorization: Bearer <key>`";
  return refuse(problem("unauthenticated", `Send the secret of the agent "${agent_id}"${orKey}.`, { field: "secret" }));
}

const mayRegister = ({ kind, scopes, agents }: Actor, agentId: string): boolean =>
  kind === "key" && scopes.includes("agent") && (agents?.includes(agentId) ?? true);

/** The session of a call, counted against the agent's rate limit. */
export async function requireSession(sql: Sql, { limits, keys }: SessionOptions, sessionId: string): Promise<Session> {
  const session = await findSession(sql, sha256Of(sessionId), keys.configuredHashes);
  if (!session)
    throw problem("unauthenticated", "The session is unknown, has expired or was revoked. Call RegisterAgent for a new one.");
  await limits.count(session.agent_id, session.trust_level);
  return session;
}
