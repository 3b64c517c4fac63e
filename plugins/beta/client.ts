import { type Capabilities, type HttpClient, httpClient } from "@signalbox/sdk";
import { type Settings, webOf } from "./settings.ts";

/** The public platform takes 60 notes a minute of one user; own servers say by 429 what they take. */
const publicInterval = 1000;

/** One client per account, so that its pace is kept over all calls. */
export function clients({ fetch, pace }: Pick<Capabilities, "fetch" | "pace">): (connection: Settings) => HttpClient {
  const kept = new Map<string, HttpClient>();
  return (connection) => {
    const { token, webhook_secret } = connection;
    const key = `${connection.url} ${token ?? ""}`;
    let client = kept.get(key);
    if (!client) {
      // Tokens are rotated; a long-lived process must not keep every one it ever saw.
      if (kept.size >= 200) kept.delete(kept.keys().next().value as string);
      client = httpClient({
        platform: "beta",
        base: `${webOf(connection)}/api/v4`,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        fetch,
        pace,
        secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: new URL(connection.url).hostname === "gitlab.com" ? publicInterval : 0,
      });
      kept.set(key, client);
    }
    return client;
  };
}
