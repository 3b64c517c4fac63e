import { Buffer } from "node:buffer";
import { type Capabilities, type HttpClient, httpClient, PluginError, rememberLatest } from "@signalbox/sdk";
import { type Settings, webUrlOf } from "./settings.ts";

/** The public platform accepts 100 writes in 30 seconds per issue; self-hosted servers answer 429 above their limit. Milliseconds. */
const publicInterval = 300;

const restOf = (connection: Settings): string => `${webUrlOf(connection)}/rest`;
const apiOf = (connection: Settings): string => `${restOf(connection)}/api/${connection.is_cloud ? 3 : 2}`;

/** Clients of the API, and of `/rest`, where webhooks are. */
export const clients = (capabilities: Pick<Capabilities, "fetch" | "throttle">) => ({
  clientOf: clientsAt(apiOf, capabilities),
  restOf: clientsAt(restOf, capabilities),
});

/** One client per account, so that its throttle covers all calls. Throws `not_configured`. */
function clientsAt(
  base: (connection: Settings) => string,
  { fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">,
): (connection: Settings) => HttpClient {
  const clientOfAccount = rememberLatest<HttpClient>(200);
  return (connection) => {
    const { url, email, api_token, is_cloud, webhook_secret } = connection;
    if (!url) throw new PluginError("not_configured", "missing GAMMA_URL: set it, or set `url` in the credentials");
    const key = JSON.stringify([url, email, api_token, is_cloud]);
    return clientOfAccount(key, () => {
      const basic =
        email === undefined || api_token === undefined ? undefined : Buffer.from(`${email}:${api_token}`).toString("base64");
      const authorization = basic === undefined ? api_token && `Bearer ${api_token}` : `Basic ${basic}`;
      return httpClient({
        platform: "gamma",
        base: base(connection),
        headers: authorization === undefined ? {} : { authorization },
        fetch,
        throttle,
        secrets: [api_token, basic, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: new URL(url).hostname.endsWith(".atlassian.net") ? publicInterval : 0,
      });
    });
  };
}
