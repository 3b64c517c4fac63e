import { pipeline, Readable } from "node:stream";
import { createGunzip, gunzipSync } from "node:zlib";
import { fetchOnce } from "@signalbox/sdk";
import { Agent, interceptors, request } from "undici";
import { type Config, setProxiesOfDeno } from "../config.ts";
import { boundedResponse, boundedStream } from "./bounded-response.ts";
import { openProxyAgent, proxyErrorIn } from "./proxy-agent.ts";
import { redirects } from "./redirects.ts";
import { WholeResponse } from "./whole-response.ts";

type Fetch = typeof globalThis.fetch;

/** Responses up to this size, in bytes, are read as a whole, which costs a fraction of a stream. */
const smallBytes = 1_000_000;
/** A body that is longer when it is decompressed is decompressed by a stream, because it would block the event loop; bytes. */
const smallUnpacked = 100_000;
/** Statuses without a body, with which the constructor of `Response` accepts none. */
const bodiless = [204, 205, 304];
/** A constant of its own, because undici's types do not declare `throwOnMaxRedirect`. */
const redirectOptions = { maxRedirections: 20, throwOnMaxRedirect: true };

/**
 * `fetch` for the requests of runs. On Node, it bypasses the streams of the global `fetch`, at a third of the cost. On Deno, it
 * is the global `fetch`, which sends a body at most once. Unusual calls (a `Request`, a streamed body) use the global `fetch`. It
 * sets no deadline, because every caller has its own. The body of a response fails after 64 MiB.
 */
export function leanFetch(config: Pick<Config, "proxies">, isDeno = "Deno" in globalThis): Fetch {
  // Looked up at each call, so that a replaced global fetch is used.
  const fetchWhole = fetchOnce((input, init) => globalThis.fetch(input, init), isDeno);
  const standardFetch: Fetch = async (input, init) =>
    withStatus(boundedResponse(await fetchWhole(input, init), init?.signal), init?.signal);
  if (isDeno && config.proxies) setProxiesOfDeno(config.proxies);
  if (isDeno) return standardFetch;
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  const agent = config.proxies ? openProxyAgent(config.proxies, limits) : new Agent(limits);
  const redirectingAgent = agent.compose(interceptors.redirect(redirectOptions));
  return async (input, init = {}) => {
    const { body, signal } = init;
    if (input instanceof Request || !(body == null || typeof body === "string" || body instanceof Uint8Array))
      return standardFetch(input, init);
    const headers = recordOf(init.headers);
    if (typeof body === "string") headers["content-type"] ??= "text/plain;charset=UTF-8";
    headers["accept-encoding"] = "gzip";
    // As fetch does: some trackers refuse requests without a user agent.
    headers.accept ??= "*/*";
    headers["user-agent"] ??= "signalbox";
    try {
      const answer = await request(input, {
        method: (init.method ?? "GET").toUpperCase() as "GET",
        headers,
        ...(body != null && { body }),
        ...(signal && { signal }),
        dispatcher: (init.redirect ?? "follow") === "follow" ? redirectingAgent : agent,
      });
      if (init.redirect === "error" && redirects.includes(answer.statusCode)) {
        await answer.body.dump();
        throw new TypeError("unexpected redirect");
      }
      const content = await bodyOf(answer, signal).catch((error) => {
        if (answer.statusCode < 400) throw new TypeError(brokenOff, { cause: error });
        return noBody(error, signal);
      });
      const fields = headersOf(answer.headers);
      return content instanceof ArrayBuffer
        ? (new WholeResponse(content, answer.statusCode, fields) as Response)
        : new Response(content, { status: answer.statusCode, headers: fields });
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof TypeError && error.message === brokenOff
        ? error
        : new TypeError("fetch failed", { cause: proxyErrorIn(error) });
    }
  };
}

/** The message with which `fetch` reports that the server sent only a part of its answer. */
const brokenOff = "terminated";
const brokenOffOnDeno = "error reading a body from connection";

/** Whether the server sent only a part of its answer. */
export const isBrokenOff = ({ message }: Error): boolean => message === brokenOff || message.startsWith(brokenOffOnDeno);

/** Headers by their names in lower case. Most callers pass them in this form, so no `Headers` object is created for them. */
function recordOf(headers: HeadersInit | undefined): Record<string, string> {
  if (headers instanceof Headers) return Object.fromEntries(headers);
  const entries = headers === undefined || Array.isArray(headers) ? null : Object.entries(headers as Record<string, unknown>);
  const isPlain = ([name, value]: [string, unknown]) =>
    name === name.toLowerCase() && typeof value === "string" && value === value.trim();
  return entries?.every(isPlain) ? { ...(headers as Record<string, string>) } : Object.fromEntries(new Headers(headers));
}

type Answer = Awaited<ReturnType<typeof request>>;

type Signal = AbortSignal | null | undefined;

/** The status of an error counts, even if its body breaks off. */
function noBody(error: unknown, signal: Signal): ArrayBuffer {
  if (signal?.aborted) throw error;
  return new ArrayBuffer(0);
}

/** A response of `fetch` with an error status and a short body, which is read here, so that it keeps its status. */
async function withStatus(response: Response, signal: Signal): Promise<Response> {
  const { status, headers } = response;
  if (status < 400 || !(Number(headers.get("content-length") ?? Number.NaN) <= smallBytes || isJson(headers.get("content-type"))))
    return response;
  const content = await response.arrayBuffer().catch((error) => noBody(error, signal));
  return new WholeResponse(content, status, [...headers]) as Response;
}

/** Half of a JSON text is useless. */
const isJson = (type: unknown): boolean => /^application\/([\w.-]+\+)?json\b/.test(String(type));

async function bodyOf(
  { statusCode, headers, body }: Answer,
  signal: Signal,
): Promise<ArrayBuffer | ReadableStream<Uint8Array> | null> {
  if (bodiless.includes(statusCode)) {
    await body.dump();
    return null;
  }
  const isPacked = /^(x-)?gzip$/i.test(String(headers["content-encoding"]));
  if (!isPacked && Number(headers["content-length"]) <= smallBytes) return await body.arrayBuffer();
  const content = isJson(headers["content-type"]) ? await wholeIfSmall(body) : body;
  if (content instanceof ArrayBuffer) return isPacked ? unpack(content, signal) : content;
  return boundedStream(isPacked ? gunzipStream(content) : content, signal);
}

/** Reads a body by its events, which cost a fraction of an iterator. */
function wholeIfSmall(body: Readable): Promise<ArrayBuffer | AsyncIterable<Uint8Array>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const allChunks = async function* () {
    try {
      yield* chunks;
      yield* body;
    } finally {
      // Otherwise a reader that stops at one of the chunks would leave the connection open.
      body.destroy();
    }
  };
  return new Promise((done, fail) => {
    const add = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes <= smallBytes) return;
      body.pause();
      body.off("data", add).off("end", end);
      done(allChunks());
    };
    const end = () => done(new Uint8Array(Buffer.concat(chunks)).buffer);
    body.on("data", add).once("end", end).once("error", fail);
  });
}

/** Decompresses a short body at once, at a fraction of the cost of a stream. */
function unpack(packed: ArrayBuffer, signal: Signal): ArrayBuffer | ReadableStream<Uint8Array> {
  // The response to `HEAD`.
  if (packed.byteLength === 0) return packed;
  try {
    return new Uint8Array(gunzipSync(packed, { maxOutputLength: smallUnpacked })).buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE") throw error;
    return boundedStream(gunzipStream(Readable.from([Buffer.from(packed)])), signal);
  }
}

/** A failure is thrown to the reader. */
const gunzipStream = (packed: AsyncIterable<Uint8Array>) => pipeline(packed, createGunzip(), () => {});

const headersOf = (all: Answer["headers"]): [string, string][] =>
  Object.entries(all).flatMap(([name, value = ""]): [string, string][] =>
    Array.isArray(value) ? value.map((one) => [name, one]) : [[name, value]],
  );
