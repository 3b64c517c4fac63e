import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { raceTimeout } from "../../platform/abortable.ts";
import { innermost, messageOf } from "../../platform/error-text.ts";
import { maxValues, ValueCounter } from "../../platform/json.ts";
import { withoutUrlSecrets } from "../../platform/network/url-secrets.ts";
import { traceHeaders } from "../../platform/telemetry/tracing.ts";
import { version } from "../../platform/version.ts";
import { ServerFault } from "./server-fault.ts";

type Fetch = typeof globalThis.fetch;

export interface SessionOptions {
  readonly url: string;
  /** Reaches only addresses that users may configure. */
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Deadline of the whole session, milliseconds. */
  readonly timeoutMs: number;
  /** Limit of all answers of the session, bytes. */
  readonly maxBytes: number;
}

/** Stops a server that causes endless requests. */
const maxRequests = 64;
/** Deadline for ending a session, milliseconds. */
const closeTimeoutMs = 2_000;

/**
 * Opens a session at an MCP server, uses it and ends it. Each use opens its own session: no session can become stale, and one
 * deadline limits everything. Throws `ServerFault`, or the signal's reason if aborted.
 */
export async function withSession<T>(options: SessionOptions, use: (client: Client) => Promise<T>): Promise<T> {
  // This time is not part of the server's deadline.
  const { Client, StreamableHTTPClientTransport } = await loadClient();
  const late = AbortSignal.timeout(options.timeoutMs);
  const endSignal = AbortSignal.any([options.signal, late]);
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const stop = () =>
    failure.reject(late.aborted ? new ServerFault(`did not answer within ${options.timeoutMs / 1000} s`) : endSignal.reason);
  endSignal.addEventListener("abort", stop, { once: true });

  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    fetch: limitedFetch(options, endSignal, failure.reject),
    reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1 },
  });
  const client = new Client({ name: "signalbox", version }, { capabilities: {}, jsonSchemaValidator: acceptAll });
  try {
    options.signal.throwIfAborted();
    const run = client.connect(transport, { timeout: options.timeoutMs }).then(() => use(client));
    return await Promise.race([run, failure.promise]);
  } catch (error) {
    options.signal.throwIfAborted();
    throw error instanceof ServerFault ? error : new ServerFault(withoutUrlSecrets(reason(error), options.url), error);
  } finally {
    endSignal.removeEventListener("abort", stop);
    void endSession(transport, client);
  }
}

/** The package is loaded with the first session: most installations have no MCP servers. */
async function loadClient() {
  const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  ]);
  return { Client, StreamableHTTPClientTransport };
}

/** Schemas from a server are checked by `safeSchema`, never compiled. */
const acceptAll: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** Not awaited: the result does not matter. */
async function endSession(transport: StreamableHTTPClientTransport, client: Client): Promise<void> {
  await raceTimeout(
    transport.terminateSession().catch(() => {}),
    closeTimeoutMs,
    undefined,
  );
  await client.close().catch(() => {});
}

function limitedFetch(options: SessionOptions, endSignal: AbortSignal, onFault: (fault: ServerFault) => void): Fetch {
  let remainingBytes = options.maxBytes;
  const counter = new ValueCounter();
  let requests = 0;
  return async (input, init = {}) => {
    // The server's notification stream is not used, so it is never opened.
    if ((init.method ?? "GET") === "GET") return new Response(null, { status: 405 });
    if (++requests > maxRequests) throw fail(new ServerFault(`caused more than ${maxRequests} requests in one session`));
    const signal = init.method === "DELETE" ? init.signal : AbortSignal.any([endSignal, ...(init.signal ? [init.signal] : [])]);
    const response = await options.fetch(input, {
      ...init,
      headers: { ...plain(init.headers), ...traceHeaders() },
      ...(signal && { signal }),
    });
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        remainingBytes -= chunk.byteLength;
        if (remainingBytes >= 0) counter.add(chunk);
        if (remainingBytes < 0) controller.error(fail(new ServerFault(`sent more than ${options.maxBytes} bytes`)));
        else if (counter.values > maxValues)
          controller.error(fail(new ServerFault(`sent more than ${maxValues} members and list items`)));
        else controller.enqueue(chunk);
      },
    });
    const body = [101, 204, 205, 304].includes(response.status) ? null : (response.body?.pipeThrough(count) ?? null);
    return new Response(body, { status: response.status, statusText: response.statusText, headers: plain(response.headers) });
  };
  function fail(fault: ServerFault): ServerFault {
    onFault(fault);
    return fault;
  }
}

/** The guard's `fetch` has its own Request and Response classes. */
const plain = (headers: RequestInit["headers"]): Record<string, string> => Object.fromEntries(new Headers(headers ?? {}));

/** The client's own codes: the connection was closed, and the request timed out. */
const localCodes = [-32000, -32001];

/** What the server did, or what failed; starts with a verb. */
function reason(error: unknown): string {
  const { code, issues } = (error ?? {}) as { code?: unknown; issues?: unknown };
  // The package's check of a message lists what it expected, for developers.
  if (Array.isArray(issues)) return "sent a message that is not valid MCP";
  const message = messageOf(innermost(error));
  const text = message.replace(/^(Streamable HTTP error|MCP error -?\d+): (Error POSTing to endpoint: )?/, "") || "no message";
  if (typeof code !== "number" || localCodes.includes(code)) return `failed: ${text}`;
  return code >= 100 && code < 600 ? `answered ${code}: ${text}` : `answered with an error: ${text}`;
}
