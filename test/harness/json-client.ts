import { parseBody } from "../../sdk/testing/json-body.ts";

export interface JsonAnswer<T> {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or the text if it is not JSON; `null` if there is no body. */
  readonly body: T;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** In milliseconds. Default: 30,000. */
  readonly timeout?: number;
}

type Send = <T = unknown>(path: string, body?: unknown, options?: RequestOptions) => Promise<JsonAnswer<T>>;

/** Requests to a service by path. They return the response with any status, and throw only if there is none. */
export interface JsonClient {
  get<T = unknown>(path: string, options?: RequestOptions): Promise<JsonAnswer<T>>;
  readonly post: Send;
  readonly put: Send;
  del<T = unknown>(path: string, options?: RequestOptions): Promise<JsonAnswer<T>>;
}

/** `token`: sent as `Authorization: Bearer` with every request. */
export function jsonClient(base: string, token?: string): JsonClient {
  const own: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const send = <T>(method: string, path: string, body: unknown, { headers, ...options }: RequestOptions = {}) =>
    sendJson<T>(base + path, method, body, { ...options, headers: { ...own, ...headers } });
  return {
    get: (path, options) => send("GET", path, undefined, options),
    post: (path, body, options) => send("POST", path, body, options),
    put: (path, body, options) => send("PUT", path, body, options),
    del: (path, options) => send("DELETE", path, undefined, options),
  };
}

/** One request by its full address. */
export async function sendJson<T>(
  url: string,
  method: string,
  body: unknown,
  { headers, timeout = 30_000 }: RequestOptions = {},
): Promise<JsonAnswer<T>> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    // A string is sent unchanged, so that tests can send invalid JSON.
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeout),
  });
  return { status: response.status, headers: response.headers, body: parseBody(await response.text()) as T };
}
