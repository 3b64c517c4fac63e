import { type Call, type HttpClient, PluginError } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** Cloud knows an account by its id, Server by its name: the same that webhooks tell. */
export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string | null> {
  const { data } = await client.read({ route: "GET /myself", shape: shapes.account, signal });
  return data.accountId ?? data.name ?? data.key ?? null;
}

/** Reads something that needs the token. Throws a `PluginError`. */
export async function check(
  clientOf: (connection: Settings) => HttpClient,
  { connection, signal }: Call<Settings>,
): Promise<void> {
  const client = clientOf(connection);
  if (!connection.api_token)
    throw new PluginError("not_configured", "gamma has no token: set GAMMA_API_TOKEN, or `api_token` in the credentials");
  await accountOf(client, signal);
}
