import { type Capabilities, type HttpClient, httpClient, rememberLatest } from "@signalbox/sdk";
import { z } from "zod";
import { withStatuses } from "./errors.ts";
import type { Settings } from "./settings.ts";

/** One GraphQL document. `operationName` is the operation's name in it; Linear shows it in the logs of an application. */
interface Document<T> {
  readonly document: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Schema of `data`. */
  readonly data: z.ZodType<T>;
}

/** A GraphQL client for one account. It throws a `PluginError` for every failure. */
export interface Client {
  query<T>(document: Document<T>, signal: AbortSignal): Promise<T>;
  /** As `query`, with the headers of the response. */
  queryWithHeaders<T>(document: Document<T>, signal: AbortSignal): Promise<{ readonly data: T; readonly headers: Headers }>;
  /** Never repeated, because a mutation without a response may have succeeded. */
  mutate<T>(document: Document<T>, signal: AbortSignal): Promise<T>;
}
export type ClientOf = (connection: Settings) => Client;

/** One client per account, so that a wait that Linear requests applies to all calls. */
export function clients({ fetch, throttle }: Pick<Capabilities, "fetch" | "throttle">): ClientOf {
  const clientOfAccount = rememberLatest<Client>(100);
  return ({ url, token, webhook_secret }) => {
    // Everything that the client depends on, including the secret that it removes from error messages.
    const key = JSON.stringify([url, token, webhook_secret]);
    return clientOfAccount(key, () =>
      clientOn(
        httpClient({
          platform: "linear",
          base: url.replace(/\/+$/, ""),
          headers: token === undefined ? {} : { authorization: authorization(token) },
          fetch: withStatuses(fetch),
          throttle,
          sharedLimit: true,
          secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
        }),
      ),
    );
  };
}

/** API keys are sent as they are, OAuth tokens as bearers. */
const authorization = (token: string): string => (token.startsWith("lin_api_") ? token : `Bearer ${token}`);

function clientOn(http: HttpClient): Client {
  const sender =
    (send: HttpClient["read"]): Client["queryWithHeaders"] =>
    async ({ document, variables = {}, data }, signal) => {
      const operationName = /^\s*(?:query|mutation)\s+(\w+)/.exec(document)?.[1];
      const body = { query: document, variables, operationName };
      const schema = z.object({ data });
      const answer = await send({ route: "POST /graphql", body, schema, signal });
      return { data: answer.data.data, headers: answer.headers };
    };
  const queryWithHeaders = sender(http.read);
  const mutate = sender(http.write);
  return {
    queryWithHeaders,
    query: async (document, signal) => (await queryWithHeaders(document, signal)).data,
    mutate: async (document, signal) => (await mutate(document, signal)).data,
  };
}
