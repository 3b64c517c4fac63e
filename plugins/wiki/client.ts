import { Buffer } from "node:buffer";
import { type Capabilities, type HttpClient, httpClient, rememberLatest } from "@signalbox/sdk";
import { apiOf, type Settings } from "./settings.ts";

/** One client per account, so that a wait that the wiki requests applies to all calls. */
export function clients({ fetch }: Pick<Capabilities, "fetch">): (connection: Settings) => HttpClient {
  const clientOfAccount = rememberLatest<HttpClient>(200);
  return (connection) => {
    const { email, api_token } = connection;
    const base = apiOf(connection);
    const key = JSON.stringify([base, email, api_token]);
    return clientOfAccount(key, () => {
      const basic =
        email !== undefined && api_token !== undefined ? Buffer.from(`${email}:${api_token}`).toString("base64") : null;
      const authorization = basic === null ? api_token && `Bearer ${api_token}` : `Basic ${basic}`;
      return httpClient({
        platform: "wiki",
        base,
        headers: authorization === undefined ? {} : { authorization },
        fetch,
        secrets: [api_token, basic].filter((secret) => typeof secret === "string"),
      });
    });
  };
}
