import { AsyncLocalStorage } from "node:async_hooks";
import type { FetchAnswer } from "../host-fetch.ts";
import { fromBase64, toBase64 } from "./bytes.ts";
import { ask, notify } from "./peer.ts";

/** The id of the call to which the running code belongs. The host refuses a write if another replica took over its execution. */
export const currentCall = new AsyncLocalStorage<number>();

/** Facts about the host, for capabilities that respond without a request. */
export interface Facts {
  readonly vectors?: Readonly<Record<string, unknown>>;
  readonly trackers?: readonly string[];
}

type OffloadedFunctions = Readonly<Record<string, (...input: unknown[]) => unknown>>;

/**
 * The capabilities that a plugin names in `needs`. Each sends requests to the host. Reading another one throws an error that says
 * so.
 */
export function proxies(needs: readonly string[], facts: Facts, offloaded: OffloadedFunctions = {}): Record<string, unknown> {
  const all: Record<string, unknown> = {
    log: (message: string, fields?: unknown) => notify("log", { message: String(message), fields: fields ?? {} }),
    fetch: hostFetch,
    tcp: { connect: hostTcp },
    secret: (name: string) => ask("secret", { name }),
    embed: (texts: readonly string[]) => ask("embed", { texts }),
    operations: {
      call: (id: string, input: unknown, options?: { on_behalf_of?: string }) =>
        ask("operations", { id, input, on_behalf_of: options?.on_behalf_of }),
    },
    vectors: facts.vectors,
    // The functions run here, because this process does not block the host's event loop, and the host can end it.
    offload: async (name: string, ...input: unknown[]) => {
      const run = Object.hasOwn(offloaded, name) ? offloaded[name] : undefined;
      if (!run) throw new Error(`offload: the plugin has no offloaded function "${name}"`);
      return run(...input);
    },
    throttle: {
      reserve: (key: string, interval: number) => ask("throttle.reserve", { key, interval }),
      block: (key: string, ms: number) => ask("throttle.block", { key, ms }),
    },
    trackers: {
      configured: () => facts.trackers ?? [],
      createIssue: (source: string, issue: unknown, { key, signal }: { key: string; signal: AbortSignal }) =>
        ask("trackers.createIssue", { source, issue, key }, signal),
      closeIssue: (source: string, issue: unknown, { key, signal }: { key: string; signal: AbortSignal }) =>
        ask("trackers.closeIssue", { source, issue, key }, signal),
      projectId: (source: string, name: string, { key, signal }: { key: string; signal: AbortSignal }) =>
        ask("trackers.projectId", { source, name, key }, signal),
    },
  };
  const granted = Object.fromEntries(needs.map((need) => [need, all[need]]));
  const unknown = needs.filter((need) => !Object.hasOwn(all, need));
  const instead = unknown.length > 0 ? `; there is no capability ${unknown.map((need) => `"${need}"`).join(", ")}` : "";
  for (const name of Object.keys(all).filter((one) => !needs.includes(one)))
    Object.defineProperty(granted, name, {
      get: () => {
        throw new Error(`it uses the capability "${name}"; add "${name}" to needs in definePlugin${instead}`);
      },
    });
  return granted;
}

/** `fetch` through the host, which checks the host and the method and adds credentials. */
async function hostFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const sent = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
  const message = {
    url: request.url,
    method: request.method,
    headers: [...request.headers],
    body: sent && toBase64(sent),
    redirect: request.redirect,
    call: currentCall.getStore(),
  };
  const answer = (await ask("fetch", message, request.signal)) as FetchAnswer;
  const empty = [101, 204, 205, 304].includes(answer.status) || answer.body === null;
  const response = new Response(empty ? null : fromBase64(answer.body as string), {
    status: answer.status,
    statusText: answer.status_text,
    headers: answer.headers as [string, string][],
  });
  Object.defineProperty(response, "url", { value: answer.url });
  Object.defineProperty(response, "redirected", { value: answer.redirected });
  return response;
}

/** A TCP connection that the host keeps. */
async function hostTcp({ host, port, tls }: { host: string; port: number; tls: boolean }) {
  const id = await ask("tcp.connect", { host, port, tls });
  return {
    read: async () => {
      const bytes = (await ask("tcp.read", { id })) as string | null;
      return bytes === null ? null : fromBase64(bytes);
    },
    write: inOrder((bytes) => ask("tcp.write", { id, bytes: toBase64(bytes) })),
    startTls: () => ask("tcp.startTls", { id }),
    close: () => ask("tcp.close", { id }),
  };
}

/** Maximum size of a part of a write, because the host parses such a line immediately. */
const writeBytes = 8_192;

/** Sends bytes in the order of the calls, and combines those of several calls. */
function inOrder(send: (bytes: Uint8Array) => Promise<unknown>): (bytes: Uint8Array) => Promise<void> {
  let queuedParts: Uint8Array[] = [];
  let lastSend = Promise.resolve();
  const flush = async () => {
    const all = concat(queuedParts);
    queuedParts = [];
    for (let at = 0; at < all.byteLength; at += writeBytes) await send(all.subarray(at, at + writeBytes));
  };
  return (bytes) => {
    // The caller may use its buffer again.
    queuedParts.push(bytes.slice());
    if (queuedParts.length === 1) lastSend = lastSend.then(flush);
    return lastSend;
  };
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}
