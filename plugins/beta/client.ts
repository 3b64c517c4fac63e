import { type Capabilities, type HttpClient, httpClient } from "@signalbox/sdk";
import { type Settings, webUrlOf } from "./settings.ts";

/** The public platform accepts 60 notes a minute per user; self-hosted servers answer 429 above their limit. Milliseconds. */
const publicInterval = 1000;

/** One client per account, so that its throttle covers all calls. */
export function clients({ fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">): (connection: Settings) => HttpClient {
  const clientByKey = new Map<string, HttpClient>();
  return (connection) => {
    const { token, webhook_secret } = connection;
    const key = `${connection.url} ${token ?? ""}`;
    let client = clientByKey.get(key);
    if (!client) {
      // Bounded, because tokens are rotated and a long-lived process would otherwise keep every old one.
      if (clientByKey.size >= 200) clientByKey.delete(clientByKey.keys().next().value as string);
      client = httpClient({
        platform: "beta",
        base: `${webUrlOf(connection)}/api/v4`,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        fetch,
        throttle,
        secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: new URL(connection.url).hostname === "gitlab.com" ? publicInterval : 0,
      });
      clientByKey.set(key, client);
    }
    return client;
  };
}

/** One call in the name of an account. */
export type Account = { readonly client: HttpClient; readonly connection: Settings; readonly signal: AbortSignal };
