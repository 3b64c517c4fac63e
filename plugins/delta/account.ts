import { type AccountReport, type CallContext, ifCode, PluginError, rateLimitOf } from "@signalbox/sdk";
import type { Client } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** `null` on servers without this endpoint: their comments are recognised by external id and marker. */
export async function accountOf(client: Client, signal: AbortSignal): Promise<string | null> {
  const request = { route: "GET /users/me/", schema: shapes.account, signal };
  return (await client.read(request).catch(ifCode("not_found", null)))?.data.id ?? null;
}

/** Lists the projects, which needs a valid key. Throws a `PluginError`. */
export async function check(
  clientOf: (connection: Settings) => Client,
  { connection, signal }: CallContext<Settings>,
): Promise<AccountReport> {
  if (!connection.api_key)
    throw new PluginError("not_configured", "missing DELTA_API_KEY: set it, or set `api_key` in the credentials");
  const client = clientOf(connection);
  const path = { slug: client.slug };
  const route = "GET /workspaces/{slug}/projects/";
  const { headers } = await client.read({ route, path, schema: shapes.lists.projects, signal });
  // The platform does not report what a key may do.
  return { may_write: null, rate_limit: rateLimitOf(headers) };
}
