import { Problem } from "@signalbox/schema/problem";
import { fetchOnce, PluginError } from "@signalbox/sdk";
import type { Manifest } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { limits } from "./limits.ts";
import type { StandIns } from "./placeholders.ts";

type Fetch = typeof globalThis.fetch;

/** Whom a sandboxed plugin reaches, and by which way. */
export interface Ways {
  readonly permissions: Manifest["permissions"]["http"];
  /** For the hosts of the manifest, and those that users gave: connects to public addresses only. */
  readonly guarded: Fetch;
  /** For the hosts that the operator named in the plugin's settings, wherever they are. */
  readonly direct: Fetch;
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

/** Headers that are the connection's, not the plugin's. */
const hostsOwn = /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|sec-.*|:.*)$/i;
const redirects = [301, 302, 303, 307, 308];
const longestMs = 120_000;

/** Fetches for a plugin: the host decides on host and method at every hop, and puts credentials in. */
export function createHostFetch(
  name: string,
  ways: Ways,
  standIns: StandIns,
): (asked: unknown, signal: AbortSignal) => Promise<FetchAnswer> {
  // Of all answers that are being read: each alone may be long, and the process may ask for many.
  const held = { bytes: 0 };
  return async (asked, signal) => {
    const parsed = request.safeParse(asked);
    if (!parsed.success) throw new PluginError("failed", `${name}: not a request that can be sent`);
    const { method, body, headers, redirect } = parsed.data;
    const bytes = body === null ? null : Buffer.from(body, "base64");
    const until = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    let url = read(name, parsed.data.url);
    for (let hop = 0; ; hop++) {
      const fetch = wayTo(name, url, method, ways);
      const own = new Headers(headers.filter(([header]) => !hostsOwn.test(header)));
      standIns.inject(url.host, own);
      const response = await send(name, fetch, url, {
        method,
        headers: own,
        redirect: "manual",
        signal: until,
        ...(bytes && { body: bytes }),
      });
      const location = response.headers.get("location");
      const moved = redirects.includes(response.status) && location !== null;
      if (!moved || redirect === "manual" || method !== "GET" || hop >= 5)
        return answerOf(response, url, hop > 0, standIns, held);
      await response.body?.cancel();
      if (redirect === "error")
        throw new PluginError("failed", `${name}: ${url.host} redirects, and redirects are an error here`);
      if (!URL.canParse(location, url.href))
        throw new PluginError(
          "failed",
          `${name}: ${url.host} redirects to ${JSON.stringify(location.slice(0, 200))}, which is no address`,
        );
      url = read(name, new URL(location, url).href);
    }
  };
}

function read(name: string, text: string): URL {
  if (!URL.canParse(text)) throw new PluginError("failed", `${name}: that is no address`);
  const url = new URL(text);
  if (url.username || url.password) throw new PluginError("failed", `${name}: credentials do not belong into an address`);
  return url;
}

function wayTo(name: string, url: URL, method: string, ways: Ways): Fetch {
  const permission = ways.permissions.find(({ host }) => host === url.host);
  // Named without a method: the operator took them away, and no setting gives the host back.
  if (permission?.methods.length === 0)
    throw new PluginError("failed", `The plugin ${name} may not reach ${url.host}: the operator does not allow it.`);
  if (permission && url.protocol === "https:") {
    if (!(permission.methods as readonly string[]).includes(method))
      throw new PluginError(
        "failed",
        `The plugin ${name} may not ${method} at ${url.host}: it may ${permission.methods.join(", ")}.`,
      );
    return ways.guarded;
  }
  if (url.protocol === "https:" || url.protocol === "http:") {
    if (ways.operatorHosts().includes(url.host)) return ways.direct;
    if (ways.userHosts().includes(url.host)) return ways.guarded;
  }
  throw new PluginError(
    "failed",
    `The plugin ${name} may not reach ${url.origin === "null" ? url.protocol : url.origin}: it is none of its hosts.`,
  );
}

async function send(name: string, fetch: Fetch, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetchOnce(fetch)(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw new PluginError("timeout", `${url.host} did not answer in time`);
    if (error instanceof Problem) throw new PluginError("failed", `${name}: ${error.message}`);
    // The cause may tell of the host's network; its code is what a plugin can use.
    const code = (error as { cause?: { code?: unknown } }).cause?.code;
    throw new PluginError("unavailable", `${url.host} could not be reached${typeof code === "string" ? ` (${code})` : ""}`);
  }
}

async function answerOf(response: Response, url: URL, redirected: boolean, standIns: StandIns, held: Held): Promise<FetchAnswer> {
  const bytes = await readBytes(response, url.host, held).catch((error) => {
    if (error instanceof PluginError) throw error;
    throw new PluginError("unavailable", `the answer of ${url.host} ended half way`);
  });
  const hide = standIns.hides() ? standIns.hide : (text: string) => text;
  // The body is decoded already.
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

/** Bytes that are no text are left as they are: latin1 keeps every one. */
const hideBytes = (bytes: Buffer, hide: (text: string) => string): string => {
  const text = bytes.toString("latin1");
  const shown = hide(text);
  return (shown === text ? bytes : Buffer.from(shown, "latin1")).toString("base64");
};

interface Held {
  bytes: number;
}

/** The body, decoded. Throws a `PluginError` where it, or what is being read beside it, is more than the host holds for a plugin. */
async function readBytes(response: Response, host: string, held: Held): Promise<Buffer> {
  if (!response.body) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return Buffer.concat(chunks, size);
      size += value.byteLength;
      held.bytes += value.byteLength;
      if (size > limits.answerBytes)
        throw new PluginError("failed", `The answer of ${host} is longer than ${limits.answerBytes} bytes`);
      if (held.bytes > limits.answersBytes)
        throw new PluginError(
          "unavailable",
          `The answers that are being read have more than ${limits.answersBytes} bytes together; ask for fewer at the same time`,
        );
      chunks.push(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  } finally {
    held.bytes -= size;
  }
}
