import { type CallContext, type HttpClient, PluginError } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** Cloud identifies an account by its id, Server by its name; webhooks contain the same. */
export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string | null> {
  const { data } = await client.read({ route: "GET /myself", schema: shapes.account, signal });
  return data.accountId ?? data.name ?? data.key ?? null;
}

/** Reads the account, which needs a valid token. Throws a `PluginError`. */
export async function check(
  clientOf: (connection: Settings) => HttpClient,
  { connection, signal }: CallContext<Settings>,
): Promise<void> {
  const client = clientOf(connection);
  if (!connection.api_token)
    throw new PluginError("not_configured", "missing GAMMA_API_TOKEN: set it, or set `api_token` in the credentials");
  await accountOf(client, signal);
}
