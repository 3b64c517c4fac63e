import type { JsonClient } from "./json-client.ts";
import { eventually } from "./wait.ts";

/** The gateway from the side of an external agent, in Connect's JSON: https://connectrpc.com/docs/protocol. */
export interface Gateway {
  /** A unary call. `code` is null if it succeeded. */
  call(
    method: string,
    message: object,
  ): Promise<{ code: string | null; body: Record<string, unknown>; retryAfter: string | null }>;
  /**
   * A server stream; its messages arrive in `messages` until it is closed. Resolves once it is the only open stream of the service,
   * whose status `status` can read.
   */
  receive(message: object, status: Pick<JsonClient, "get">): Promise<{ messages: Record<string, unknown>[]; close(): void }>;
}

/** `authorization`: sent with every call. */
export function gateway(url: string, authorization?: string): Gateway {
  const proof = authorization === undefined ? {} : { authorization };
  const base = `${url}/signalbox.gateway.v1.AgentGateway`;
  return {
    call: async (method, message) => {
      const headers = { "content-type": "application/json", ...proof };
      const response = await fetch(`${base}/${method}`, { method: "POST", headers, body: JSON.stringify(message) });
      const body = (await response.json()) as Record<string, unknown>;
      return { code: response.ok ? null : String(body.code), body, retryAfter: response.headers.get("retry-after") };
    },
    receive: async (message, status) => {
      const open = async () => {
        const { body } = await status.get<{ agents: { streams: number }[] }>("/api/status");
        return body.agents.reduce((sum, { streams }) => sum + streams, 0);
      };
      // The one of an earlier test may still be closing.
      await eventually(async () => (await open()) === 0);
      const abort = new AbortController();
      const headers = { "content-type": "application/connect+json", ...proof };
      const body = envelope(message);
      const messages: Record<string, unknown>[] = [];
      // The head of the response arrives with the first message, so it is not awaited.
      fetch(`${base}/ReceiveTasks`, { method: "POST", headers, body, signal: abort.signal })
        .then((response) => read(response, messages))
        .catch(() => {});
      await eventually(async () => (await open()) === 1);
      return { messages, close: () => abort.abort() };
    },
  };
}

/** One message of a stream: a byte of flags, four of length, then the JSON. */
function envelope(message: object): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(message));
  const bytes = new Uint8Array(5 + json.length);
  new DataView(bytes.buffer).setUint32(1, json.length);
  bytes.set(json, 5);
  return bytes;
}

async function read(response: Response, into: Record<string, unknown>[]): Promise<void> {
  let pending = Buffer.alloc(0);
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
      const end = 5 + pending.readUInt32BE(1);
      into.push(JSON.parse(pending.subarray(5, end).toString("utf8")));
      pending = pending.subarray(end);
    }
  }
}
