import { type AccountReport, type EventAuthor, PluginError, type StandingQuery, stringAt, valueAt } from "@signalbox/sdk";
import { z } from "zod";
import type { Account } from "./comments.ts";
import { rateLimitIn } from "./errors.ts";
import * as shapes from "./shapes.ts";

/** Who caused an event: its actor; in older payloads and in comments synced from another service, its author. */
export function authorOf(payload: unknown): EventAuthor | null {
  const data = valueAt(payload, "data");
  const external = stringAt(data, ["externalUserId"], 100) ?? stringAt(data, ["externalUser", "id"], 100);
  // Customers and people of other services, for example of a Slack channel, who have no account at Linear.
  if (external !== null && stringAt(data, ["userId"], 100) === null)
    return { id: external, name: stringAt(data, ["externalUser", "name"], 200), kind: "human", standing: "none" };
  const actor = valueAt(payload, "actor");
  const id = stringAt(actor, ["id"], 100) ?? stringAt(data, ["userId"], 100) ?? stringAt(data, ["user", "id"], 100);
  const name = stringAt(actor, ["name"], 200) ?? stringAt(data, ["user", "name"], 200);
  const isBot = valueAt(data, "botActor") !== undefined && valueAt(data, "botActor") !== null;
  if (id === null && name === null && !isBot) return null;
  const kind = isBot ? "bot" : kindOf(stringAt(actor, ["type"], 100));
  return { id, name: name ?? stringAt(data, ["botActor", "name"], 200), kind, standing: "unknown" };
}

/** The kind of an actor: a user, or an OAuth client, an integration, or Linear itself. */
function kindOf(type: string | null): EventAuthor["kind"] {
  if (type === null || type.toLowerCase() === "user") return "human";
  return "app";
}

const user = z.object({
  id: z.string(),
  active: z.boolean(),
  admin: z.boolean(),
  guest: z.boolean(),
  app: z.boolean().nullish(),
});

/**
 * The standing of an account in the workspace. A guest sees single teams only and is not a member; an app user has no standing
 * of its own.
 */
export async function standingOf({ client, signal }: Account, { author }: StandingQuery): Promise<EventAuthor["standing"]> {
  if (author.id === null || !/^[\w-]{1,100}$/.test(author.id)) return "unknown";
  const document = `query StandingOfUser($id: ID!) {
    users(first: 1, filter: { id: { eq: $id } }, includeDisabled: true) { nodes { id active admin guest app } }
  }`;
  try {
    const data = z.object({ users: z.object({ nodes: z.array(user) }) });
    const found = (await client.query({ document, variables: { id: author.id }, data }, signal)).users.nodes[0];
    if (!found?.active) return "none";
    if (found.app || found.guest) return "contributor";
    return found.admin ? "owner" : "member";
  } catch (error) {
    if (error instanceof PluginError && error.code === "unauthorized") return "unknown";
    throw error;
  }
}

const viewer = { document: "query Account { viewer { id name displayName } }", data: z.object({ viewer: shapes.person }) };

/** Id of the account that the token belongs to; it is the `actor` of its events. */
export async function accountOf({ client, signal }: Account): Promise<string> {
  return (await client.query(viewer, signal)).viewer.id;
}

/** Reads the account, which needs a valid token. Linear does not report the permissions of a token. Throws a `PluginError`. */
export async function check({ client, signal }: Account): Promise<AccountReport> {
  const { headers } = await client.queryWithHeaders(viewer, signal);
  return { may_write: null, rate_limit: rateLimitIn(headers) };
}
