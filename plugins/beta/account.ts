import { type CallContext, type HttpClient, PluginError } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

export async function accountOf(client: HttpClient, signal: AbortSignal): Promise<string> {
  return (await client.read({ route: "GET /user", schema: shapes.account, signal })).data.username;
}

/** Reads the account, which needs a valid token. Throws a `PluginError`. */
export async function check(client: HttpClient, { connection, signal }: CallContext<Settings>): Promise<void> {
  if (!connection.token) throw new PluginError("not_configured", "missing BETA_TOKEN: set it, or set `token` in the credentials");
  await accountOf(client, signal);
}
