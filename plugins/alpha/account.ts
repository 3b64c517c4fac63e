import { type AccountReport, type CallContext, PluginError, rateLimitOf } from "@signalbox/sdk";
import type { Client } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** `null` for an app's token, which belongs to no user: its comments are recognised by their marker. */
export const accountOf = async (client: Client, signal: AbortSignal): Promise<string | null> =>
  (await readUser(client, signal))?.data.login ?? null;

async function readUser(client: Client, signal: AbortSignal) {
  try {
    return await client.read("GET /user", {}, shapes.account, signal);
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** Reads something that every token may read. Throws a `PluginError`. */
export async function check(client: Client, { connection, signal }: CallContext<Settings>): Promise<AccountReport> {
  if (!connection.token)
    throw new PluginError("not_configured", "missing ALPHA_TOKEN: set it, or set `token` in the credentials");
  // A bad token gets 401 from both. An app's token may not read the user, but it may read its limits.
  const user = await readUser(client, signal);
  const { headers } = user ?? (await client.read("GET /rate_limit", {}, shapes.anyObject, signal));
  return { may_write: mayWrite(headers.get("x-oauth-scopes")), rate_limit: rateLimitOf(headers) };
}

/** By the scopes of a classic token. The platform does not report the permissions of other tokens. */
function mayWrite(scopes: string | null): boolean | null {
  if (scopes === null) return null;
  return scopes.split(",").some((scope) => ["repo", "public_repo"].includes(scope.trim()));
}

const isRefusal = (error: unknown): boolean => {
  if (!(error instanceof PluginError)) return false;
  return error.code === "not_found" || (error.code === "unauthorized" && error.message.includes("answered 403"));
};
