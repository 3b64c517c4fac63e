import { limits } from "../limits.ts";
import { BootError, HostError, toWire, type WireError } from "./errors.ts";
import { lineOf, messages, send, sendLine } from "./stdio.ts";

type Handler = (params: unknown, id: number) => unknown;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: WireError;
}

const pendingRequests = new Map<number, { done(value: unknown): void; fail(error: unknown): void }>();
/**
 * Number of requests that the host handles, including cancelled ones until it has answered them; and the requests that wait for
 * their turn.
 */
const underWay = new Set<number>();
const waitingLines = new Map<number, Uint8Array>();
let lastId = 0;

/**
 * Sends a request to the host, which refuses more than `limits.requests` at the same time; further ones wait here. Rejects with a
 * `HostError`.
 */
export function ask(method: string, params: unknown, signal?: AbortSignal | null): Promise<unknown> {
  signal?.throwIfAborted();
  lastId += 1;
  const id = lastId;
  return new Promise((done, fail) => {
    const line = shortLineOf({ jsonrpc: "2.0", id, method, params }, `The request "${method}"`);
    const stop = () => {
      pendingRequests.delete(id);
      if (!waitingLines.delete(id)) notify("cancel", { id });
      fail(signal?.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
    const finishThen =
      <T>(then: (value: T) => void) =>
      (value: T) => {
        signal?.removeEventListener("abort", stop);
        then(value);
      };
    pendingRequests.set(id, { done: finishThen(done), fail: finishThen(fail) });
    waitingLines.set(id, line);
    sendWaiting();
  });
}

function sendWaiting(): void {
  for (const [id, line] of waitingLines) {
    if (underWay.size >= limits.requests) return;
    waitingLines.delete(id);
    underWay.add(id);
    sendLine(line);
  }
}

/** The host ends a process that sends a longer line, and with it all of its calls. */
function shortLineOf(message: unknown, what: string): Uint8Array {
  const line = lineOf(message);
  if (line.byteLength <= limits.line) return line;
  throw new BootError("failed", `${what} has ${line.byteLength} bytes as JSON; the limit is ${limits.line} (4 MiB).`);
}

/** Sends a message to the host that has no response. */
export const notify = (method: string, params: unknown): void => send({ jsonrpc: "2.0", method, params });

/** Answers requests of the host until it closes standard input. */
export async function serve(handlers: Readonly<Record<string, Handler>>): Promise<void> {
  for await (const message of messages()) take(message as Message, handlers);
}

function take(message: Message, handlers: Readonly<Record<string, Handler>>): void {
  const { id, method, params } = message;
  if (method === undefined) {
    const call = pendingRequests.get(id as number);
    pendingRequests.delete(id as number);
    underWay.delete(id as number);
    sendWaiting();
    if (message.error) call?.fail(new HostError(message.error));
    else call?.done(message.result);
    return;
  }
  const handler = handlers[method];
  if (id === undefined) handler?.(params, 0);
  else if (handler) void run(id, () => handler(params, id));
  else send({ jsonrpc: "2.0", id, error: { code: -32_601, message: `There is no method ${method}.` } });
}

async function run(id: number, work: () => unknown): Promise<void> {
  try {
    sendLine(shortLineOf({ jsonrpc: "2.0", id, result: (await work()) ?? null }, "The result"));
  } catch (error) {
    send({ jsonrpc: "2.0", id, error: toWire(error) });
  }
}
