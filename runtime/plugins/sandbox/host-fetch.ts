import { Problem } from "@signalbox/schema/problem";
import { fetchOnce, PluginError } from "@signalbox/sdk";
import { connectionHeader, httpMethods, type Manifest } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { messageOf } from "../../platform/error-text.ts";
import { redirects, temporaryRedirects } from "../../platform/network/redirects.ts";
import { limits } from "./limits.ts";
import type { Placeholders } from "./placeholders.ts";

type Fetch = typeof globalThis.fetch;

/** The hosts that a sandboxed plugin may reach, and the `fetch` for each. */
export interface EgressRules {
  readonly permissions: Manifest["permissions"]["http"];
  /** For the hosts of the manifest and of defaults, and those that users entered: connects only to public addresses. */
  readonly guardedFetch: Fetch;
  /** For the hosts that the operator named in the plugin's settings: connects to any address. */
  readonly directFetch: Fetch;
  readonly operatorHosts: () => readonly string[];
  readonly userHosts: () => readonly string[];
}

const request = z.object({
  url: z.string().max(10_000),
  method: z.string().max(20),
  headers: z.array(z.tuple([z.string().max(200), z.string().max(20_000)])).max(200),
  body: z.string().nullable(),
  redirect: z.enum(["follow", "manual", "error"]).catch("follow"),
});
export interface FetchAnswer {
  readonly status: number;
  readonly status_text: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: readonly [string, string][];
  readonly body: string | null;
}

const timeoutMs = 120_000;

/** Fetches for a plugin: the host checks address and method at every redirect, and adds credentials. */
export function createHostFetch(
  name: string,
  rules: EgressRules,
  placeholders: Placeholders,
): (input: unknown, signal: AbortSignal) => Promise<FetchAnswer> {
  // Bytes of all responses in progress, because each may be long, and the process may send many requests.
  const openResponses = { bytes: 0 };
  return async (input, signal) => {
    const parsed = request.safeParse(input);
    if (!parsed.success) throw new PluginError("failed", `${name}: the request is not valid`);
    const { method, body, headers, redirect } = parsed.data;
    const bytes = body === null ? null : Buffer.from(body, "base64");
    const endSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    let url = readUrl(name, parsed.data.url);
    let fetch = fetchFor(name, url, method, rules);
    for (let hop = 0; ; hop++) {
      const own = new Headers(headers.filter(([header]) => !connectionHeader.test(header)));
      placeholders.inject(url.host, own);
      const response = await send(name, fetch, url, {
        method,
        headers: own,
        redirect: "manual",
        signal: endSignal,
        ...(bytes && { body: bytes }),
      });
      const location = response.headers.get("location");
      const isRedirect = redirects.includes(response.status) && location !== null;
      if (!isRedirect || redirect === "manual" || method !== "GET" || hop >= 5)
        return answerOf(response, url, hop > 0, placeholders, openResponses);
      await response.body?.cancel();
      if (redirect === "error")
        throw new PluginError("failed", `${name}: ${url.host} redirects, and the request has redirect: "error"`);
      if (!URL.canParse(location, url.href))
        throw new PluginError(
          "failed",
          `${name}: ${url.host} redirects to ${JSON.stringify(location.slice(0, 200))}, which is not a valid URL`,
        );
      const from = url;
      url = readUrl(name, new URL(location, from).href);
      try {
        fetch = fetchFor(name, url, method, rules);
      } catch (error) {
        throw isLoginPage(from, response.status, rules) ? loginPageError(from, url, error) : error;
      }
    }
  };
}

/** Whether a redirect to a host that is not allowed is probably a proxy's to its login page: only own servers have such proxies. */
const isLoginPage = ({ host }: URL, status: number, { operatorHosts, userHosts }: EgressRules): boolean =>
  temporaryRedirects.includes(status) && (operatorHosts().includes(host) || userHosts().includes(host));

/** The server is unavailable until someone renews the session. */
const loginPageError = (from: URL, to: URL, cause: unknown): PluginError =>
  new PluginError("unavailable", `${from.host} redirects to ${to.host}, probably to a login page. ${messageOf(cause)}`, {
    cause,
  });

function readUrl(name: string, text: string): URL {
  if (!URL.canParse(text)) throw new PluginError("failed", `${name}: the URL is not valid`);
  const url = new URL(text);
  if (url.username || url.password) throw new PluginError("failed", `${name}: a URL must not contain credentials`);
  return url;
}

function fetchFor(name: string, url: URL, method: string, rules: EgressRules): Fetch {
  const permission = rules.permissions.find(({ host }) => host === url.host);
  // The operator denied all methods; a setting with this host does not allow them again.
  if (permission?.methods.length === 0)
    throw new PluginError("failed", `The plugin ${name} cannot reach ${url.host}: the operator does not allow it.`);
  if (permission && url.protocol === "https:") {
    if (!(permission.methods as readonly string[]).includes(method))
      throw new PluginError(
        "failed",
        `The plugin ${name} cannot send ${method} requests to ${url.host}; allowed: ${permission.methods.join(", ")}.`,
      );
    return rules.guardedFetch;
  }
  if (url.protocol === "https:" || url.protocol === "http:") {
    const isOperators = rules.operatorHosts().includes(url.host);
    if (isOperators || rules.userHosts().includes(url.host)) {
      if (!(httpMethods as readonly string[]).includes(method))
        throw new PluginError(
          "failed",
          `The plugin ${name} cannot send ${method} requests to ${url.host}; allowed: ${httpMethods.join(", ")}.`,
        );
      return isOperators ? rules.directFetch : rules.guardedFetch;
    }
  }
  const where = url.origin === "null" ? url.protocol : url.origin;
  const detail = permission
    ? "its permissions are for https; a server without TLS has its URL in a setting."
    : "the host is not in permissions.http of its manifest, nor in the URL of a setting.";
  throw new PluginError("failed", `The plugin ${name} cannot reach ${where}: ${detail}`);
}

async function send(name: string, fetch: Fetch, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetchOnce(fetch)(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw new PluginError("timeout", `${url.host} did not answer in time`);
    if (error instanceof Problem) throw new PluginError("failed", `${name}: ${error.message}`);
    // The cause may describe the host's network, so a plugin receives only its code.
    const code = (error as { cause?: { code?: unknown } }).cause?.code;
    throw new PluginError("unavailable", `${url.host} could not be reached${typeof code === "string" ? ` (${code})` : ""}`);
  }
}

async function answerOf(
  response: Response,
  url: URL,
  redirected: boolean,
  placeholders: Placeholders,
  openResponses: OpenResponses,
): Promise<FetchAnswer> {
  const bytes = await readBytes(response, url.host, openResponses).catch((error) => {
    if (error instanceof PluginError) throw error;
    throw new PluginError("unavailable", `the response of ${url.host} ended early`);
  });
  const hide = placeholders.hides() ? placeholders.hide : (text: string) => text;
  // The body is already decoded.
  const headers = [...response.headers].filter(
    ([header]) => !/^(content-encoding|content-length|transfer-encoding)$/.test(header),
  );
  return {
    status: response.status,
    status_text: hide(response.statusText),
    url: hide(url.href),
    redirected,
    headers: headers.map(([header, value]) => [header, hide(value)]),
    body: bytes.byteLength === 0 ? null : hideBytes(bytes, hide),
  };
}

/** As latin1, which keeps every byte, so that binary responses are unchanged. */
const hideBytes = (bytes: Buffer, hide: (text: string) => string): string => {
  const text = bytes.toString("latin1");
  const shown = hide(text);
  return (shown === text ? bytes : Buffer.from(shown, "latin1")).toString("base64");
};

interface OpenResponses {
  bytes: number;
}

/** The decoded body. Throws a `PluginError` if it, or all responses in progress of the plugin together, are too long. */
async function readBytes(response: Response, host: string, openResponses: OpenResponses): Promise<Buffer> {
  if (!response.body) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return Buffer.concat(chunks, size);
      size += value.byteLength;
      openResponses.bytes += value.byteLength;
      if (size > limits.answerBytes)
        throw new PluginError("failed", `The response of ${host} is longer than ${limits.answerBytes} bytes`);
      if (openResponses.bytes > limits.answersBytes)
        throw new PluginError(
          "unavailable",
          `The responses being read have more than ${limits.answersBytes} bytes together; send fewer requests at the same time`,
        );
      chunks.push(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  } finally {
    openResponses.bytes -= size;
  }
}
