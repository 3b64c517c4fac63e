import { type Capabilities, type HttpClient, httpClient, rememberLatest } from "@signalbox/sdk";
import { type Settings, webUrlOf } from "./settings.ts";

/** The public platform accepts 60 notes a minute per user; self-hosted servers answer 429 above their limit. Milliseconds. */
const publicInterval = 1000;

/** One client per account, so that its throttle covers all calls. */
export function clients({ fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">): (connection: Settings) => HttpClient {
  const clientOfAccount = rememberLatest<HttpClient>(200);
  return (connection) => {
    const { token, webhook_secret } = connection;
    const key = JSON.stringify([connection.url, token]);
    return clientOfAccount(key, () => {
      return httpClient({
        platform: "beta",
        base: `${webUrlOf(connection)}/api/v4`,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        fetch,
        throttle,
        secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
        writeInterval: new URL(connection.url).hostname === "gitlab.com" ? publicInterval : 0,
      });
    });
  };
}

/** One call in the name of an account. */
export type Account = { readonly client: HttpClient; readonly connection: Settings; readonly signal: AbortSignal };
