import { Buffer } from "node:buffer";
import { type Capabilities, type HttpClient, httpClient } from "@signalbox/sdk";
import { apiOf, type Settings } from "./settings.ts";

/** One client per account, so that a wait that the wiki requests applies to all calls. */
export function clients({ fetch }: Pick<Capabilities, "fetch">): (connection: Settings) => HttpClient {
  const clientByKey = new Map<string, HttpClient>();
  return (connection) => {
    const { email, api_token } = connection;
    const base = apiOf(connection);
    const key = JSON.stringify([base, email, api_token]);
    let client = clientByKey.get(key);
    if (!client) {
      // Bounded, because tokens are rotated and a long-lived process would otherwise keep every old one.
      if (clientByKey.size >= 200) clientByKey.delete(clientByKey.keys().next().value as string);
      const basic =
        email !== undefined && api_token !== undefined ? Buffer.from(`${email}:${api_token}`).toString("base64") : null;
      const authorization = basic === null ? api_token && `Bearer ${api_token}` : `Basic ${basic}`;
      client = httpClient({
        platform: "wiki",
        base,
        headers: authorization === undefined ? {} : { authorization },
        fetch,
        secrets: [api_token, basic].filter((secret) => typeof secret === "string"),
      });
      clientByKey.set(key, client);
    }
    return client;
  };
}
