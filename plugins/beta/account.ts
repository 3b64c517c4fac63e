import { type AccountReport, type CallContext, type HttpClient, PluginError, rateLimitOf } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string> {
  return (await client.read({ route: "GET /user", schema: shapes.account, signal })).data.username;
}

/** Reads the account, which needs a valid token, and the scopes of the token. Throws a `PluginError`. */
export async function check(client: HttpClient, { connection, signal }: CallContext<Settings>): Promise<AccountReport> {
  if (!connection.token) throw new PluginError("not_configured", "missing BETA_TOKEN: set it, or set `token` in the credentials");
  const { headers } = await client.read({ route: "GET /user", schema: shapes.account, signal });
  return { may_write: await mayWrite(client, signal), rate_limit: rateLimitOf(headers) };
}

/** Only newer servers report scopes, and only those of access tokens. */
async function mayWrite(client: HttpClient, signal: AbortSignal): Promise<boolean | null> {
  try {
    const { data } = await client.read({ route: "GET /personal_access_tokens/self", schema: shapes.accessToken, signal });
    return data.scopes.includes("api");
  } catch (error) {
    if (error instanceof PluginError && ["not_found", "unauthorized", "invalid_input"].includes(error.code)) return null;
    throw error;
  }
}
