import { type CallContext, PluginError } from "@signalbox/sdk";
import type { Client } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** `null` for an app's token, which belongs to no user: its comments are recognised by their marker. */
export async function accountOf(client: Client, signal: AbortSignal): Promise<string | null> {
  try {
    return (await client.read("GET /user", {}, shapes.account, signal)).data.login;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** Reads something that every token may read. Throws a `PluginError`. */
export async function check(client: Client, { connection, signal }: CallContext<Settings>): Promise<void> {
  if (!connection.token)
    throw new PluginError("not_configured", "missing ALPHA_TOKEN: set it, or set `token` in the credentials");
  // A bad token gets 401 from both. An app's token may not read the user, but it may read its limits.
  if ((await accountOf(client, signal)) === null) await client.read("GET /rate_limit", {}, shapes.anything, signal);
}

const isRefusal = (error: unknown): boolean => {
  if (!(error instanceof PluginError)) return false;
  return error.code === "not_found" || (error.code === "unauthorized" && error.message.includes("answered 403"));
};
