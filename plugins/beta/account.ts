import { type Call, type HttpClient, PluginError } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string> {
  return (await client.read({ route: "GET /user", shape: shapes.account, signal })).data.username;
}

/** Reads something that needs the token. Throws a `PluginError`. */
export async function check(client: HttpClient, { connection, signal }: Call<Settings>): Promise<void> {
  if (!connection.token)
    throw new PluginError("not_configured", "beta has no token: set BETA_TOKEN, or `token` in the credentials");
  await accountOf(client, signal);
}
