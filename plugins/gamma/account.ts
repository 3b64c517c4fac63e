import { type AccountReport, type CallContext, type HttpClient, PluginError, rateLimitOf } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** Cloud identifies an account by its id, Server by its name. Webhooks contain the same identifier. */
export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string | null> {
  const { data } = await client.read({ route: "GET /myself", schema: shapes.account, signal });
  return data.accountId ?? data.name ?? data.key ?? null;
}

/** Reads the account, which needs a valid token, and whether it may comment in any project. Throws a `PluginError`. */
export async function check(
  clientOf: (connection: Settings) => HttpClient,
  { connection, signal }: CallContext<Settings>,
): Promise<AccountReport> {
  const client = clientOf(connection);
  if (!connection.api_token)
    throw new PluginError("not_configured", "missing GAMMA_API_TOKEN: set it, or set `api_token` in the credentials");
  const { headers } = await client.read({ route: "GET /myself", schema: shapes.account, signal });
  return { may_write: await mayComment(client, signal), rate_limit: rateLimitOf(headers) };
}

async function mayComment(client: HttpClient, signal: AbortSignal): Promise<boolean | null> {
  try {
    const query = { permissions: "ADD_COMMENTS" };
    const { data } = await client.read({ route: "GET /mypermissions", query, schema: shapes.permissions, signal });
    return data.permissions.ADD_COMMENTS?.havePermission ?? null;
  } catch (error) {
    if (error instanceof PluginError && ["not_found", "unauthorized", "invalid_input"].includes(error.code)) return null;
    throw error;
  }
}
