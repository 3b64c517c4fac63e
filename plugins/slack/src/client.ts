import { type Capabilities, type HttpClient, httpClient, PluginError, valueAt } from "@signalbox/sdk";
import type { z } from "zod";
import type { Config } from "./config.ts";

/** Calls one method of the Web API. Throws a `PluginError` for every failure. */
export interface Slack {
  read<T>(
    method: string,
    query: Readonly<Record<string, string | number>>,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T>;
  /** Never repeated, because a message without a response may have been posted. */
  write<T>(method: string, body: object, schema: z.ZodType<T>, signal: AbortSignal): Promise<T>;
}
type Needs = Pick<Capabilities, "fetch" | "throttle" | "secret">;

/** Slack allows one message a second in a channel. Milliseconds. */
const interval = 1000;

/** A client for the token that is set at the moment of the call. */
export function openSlack({ fetch, throttle, secret }: Needs, { url }: Config): () => Promise<Slack> {
  let cached: { readonly key: string; readonly slack: Slack } | null = null;
  return async () => {
    const token = await secret("token");
    if (!token) throw new PluginError("not_configured", "set the secret token: the bot token of the Slack app");
    if (cached?.key !== token) {
      const headers = { authorization: `Bearer ${token}` };
      const base = `${url.replace(/\/+$/, "")}/api`;
      const isLocal = new URL(url).hostname === "127.0.0.1";
      const writeInterval = isLocal ? 0 : interval;
      const client = httpClient({
        platform: "slack",
        base,
        headers,
        fetch: withStatuses(fetch),
        throttle,
        secrets: [token],
        writeInterval,
      });
      cached = { key: token, slack: slackOn(client) };
    }
    return cached.slack;
  };
}

const slackOn = (client: HttpClient): Slack => ({
  read: async (method, query, schema, signal) => (await client.read({ route: `GET /${method}`, query, schema, signal })).data,
  write: async (method, body, schema, signal) => (await client.write({ route: `POST /${method}`, body, schema, signal })).data,
});

/** Slack answers 200 to most errors, with `ok: false`. */
const statuses: Readonly<Record<string, number>> = {
  ratelimited: 429,
  rate_limited: 429,
  message_limit_exceeded: 429,
  invalid_auth: 401,
  not_authed: 401,
  account_inactive: 401,
  token_revoked: 401,
  token_expired: 401,
  missing_scope: 403,
  not_allowed_token_type: 403,
  not_in_channel: 403,
  access_denied: 403,
  channel_not_found: 404,
  message_not_found: 404,
  is_archived: 404,
  internal_error: 500,
  fatal_error: 500,
  service_unavailable: 503,
  request_timeout: 504,
};

const withStatuses =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 200) return response;
    const text = await response.text();
    const error = errorIn(text);
    const status = error === null ? 200 : (statuses[error] ?? 422);
    return new Response(error === null ? text : JSON.stringify({ message: error }), { status, headers: response.headers });
  };

function errorIn(text: string): string | null {
  try {
    const data: unknown = JSON.parse(text);
    return valueAt(data, "ok") === false ? String(valueAt(data, "error") ?? "unknown_error") : null;
  } catch {
    return null;
  }
}
