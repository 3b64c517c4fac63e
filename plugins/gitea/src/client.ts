import { type Capabilities, type HttpClient, httpClient, rememberLatest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

export type ClientOf = (connection: Settings) => HttpClient;

/** One client per account, so that a wait that the server requests applies to all calls. */
export function clients({ fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">): ClientOf {
  const clientOfAccount = rememberLatest<HttpClient>(100);
  return ({ url, token, webhook_secret }) => {
    // Everything that the client depends on, including the secret that it removes from error messages.
    const key = JSON.stringify([url, token, webhook_secret]);
    return clientOfAccount(key, () =>
      httpClient({
        platform: "gitea",
        base: `${url.replace(/\/+$/, "")}/api/v1`,
        headers: token === undefined ? {} : { authorization: `token ${token}` },
        fetch,
        throttle,
        secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
      }),
    );
  };
}
