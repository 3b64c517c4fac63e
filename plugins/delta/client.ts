import { type Capabilities, type HttpClient, httpClient, PluginError, rememberLatest } from "@signalbox/sdk";
import type { Convert } from "./conversions.ts";
import { apiOf, type Settings } from "./settings.ts";

/** The public platform accepts 60 requests a minute per key; self-hosted servers answer 429 above their limit. Milliseconds. */
const publicInterval = 1000;

export interface Client extends HttpClient {
  /** Slug of the workspace, the first part of every path. */
  readonly slug: string;
}

/** Clients of version 1 of the API, and of version 2, which has webhooks. */
export const clients = (capabilities: Pick<Capabilities, "fetch" | "throttle">) => ({
  clientOf: clientsAt(apiOf, capabilities),
  secondOf: clientsAt((connection) => apiOf(connection).replace(/\/v1$/, "/v2"), capabilities),
});

/** One client per account, so that its throttle covers all calls. Throws `not_configured`. */
function clientsAt(
  base: (connection: Settings) => string,
  { fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">,
): (connection: Settings) => Client {
  const clientOfAccount = rememberLatest<Client>(200);
  return (connection) => {
    const { api_url, api_key, workspace_slug, webhook_secret } = connection;
    if (!workspace_slug)
      throw new PluginError("not_configured", "missing DELTA_WORKSPACE_SLUG: set it, or set `workspace_slug` in the credentials");
    const key = JSON.stringify([api_url, api_key, workspace_slug]);
    return clientOfAccount(key, () => {
      const interval = new URL(api_url).hostname === "api.plane.so" ? publicInterval : 0;
      const http = httpClient({
        platform: "delta",
        base: base(connection),
        headers: api_key === undefined ? {} : { "x-api-key": api_key },
        fetch,
        throttle,
        secrets: [api_key, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: interval,
        readInterval: interval,
        sharedLimit: true,
      });
      return { ...http, slug: workspace_slug };
    });
  };
}

/** One call in the name of an account. */
export interface Account {
  readonly client: Client;
  readonly connection: Settings;
  readonly convert: Convert;
  readonly signal: AbortSignal;
}
