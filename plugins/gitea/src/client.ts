import { type Capabilities, type HttpClient, httpClient } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

export type ClientOf = (connection: Settings) => HttpClient;

/** One client per account, so that a wait that the server requests applies to all calls. */
export function clients({ fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">): ClientOf {
  const clientByKey = new Map<string, HttpClient>();
  return ({ url, token, webhook_secret }) => {
    // Everything that the client depends on, including the secret that it removes from error messages.
    const key = JSON.stringify([url, token, webhook_secret]);
    const known = clientByKey.get(key);
    if (known) return known;
    const client = httpClient({
      platform: "gitea",
      base: `${url.replace(/\/+$/, "")}/api/v1`,
      headers: token === undefined ? {} : { authorization: `token ${token}` },
      fetch,
      throttle,
      secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
    });
    // Bounded, because tokens are rotated and a long-lived process would otherwise keep every old one.
    if (clientByKey.size >= 100) clientByKey.clear();
    clientByKey.set(key, client);
    return client;
  };
}
