import { Buffer } from "node:buffer";
import { type Capabilities, type HttpClient, httpClient, PluginError } from "@signalbox/sdk";
import { type Settings, webOf } from "./settings.ts";

/** The public platform takes 100 writes in 30 seconds at one issue; own servers say by 429 what they take. */
const publicInterval = 300;

/** One client per account, so that its pace is kept over all calls. Throws `not_configured`. */
export function clients({ fetch, pace }: Pick<Capabilities, "fetch" | "pace">): (connection: Settings) => HttpClient {
  const kept = new Map<string, HttpClient>();
  return (connection) => {
    const { url, email, api_token, is_cloud, webhook_secret } = connection;
    if (!url) throw new PluginError("not_configured", "gamma has no address: set GAMMA_URL, or `url` in the credentials");
    const key = JSON.stringify([url, email, api_token, is_cloud]);
    let client = kept.get(key);
    if (!client) {
      // Tokens are rotated; a long-lived process must not keep every one it ever saw.
      if (kept.size >= 200) kept.delete(kept.keys().next().value as string);
      const basic =
        email === undefined || api_token === undefined ? undefined : Buffer.from(`${email}:${api_token}`).toString("base64");
      const authorization = basic === undefined ? api_token && `Bearer ${api_token}` : `Basic ${basic}`;
      client = httpClient({
        platform: "gamma",
        base: `${webOf(connection)}/rest/api/${is_cloud ? 3 : 2}`,
        headers: authorization === undefined ? {} : { authorization },
        fetch,
        pace,
        secrets: [api_token, basic, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: new URL(url).hostname.endsWith(".atlassian.net") ? publicInterval : 0,
      });
      kept.set(key, client);
    }
    return client;
  };
}
