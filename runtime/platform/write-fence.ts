import { AsyncLocalStorage } from "node:async_hooks";

/** Decides on every request that may change something outside, immediately before it is sent. */
export interface WriteFence {
  /** Sends a request with a signal that aborts it when it may no longer be under way. Throws without sending if it must not be sent. */
  send(request: (signal: AbortSignal) => Promise<Response>): Promise<Response>;
}

type Fetch = typeof globalThis.fetch;

const fences = new AsyncLocalStorage<WriteFence>();

/** Runs a call under a fence: all writes that its asynchronous work sends through `fencedFetch` ask the fence. */
export const runFenced = <T>(fence: WriteFence, call: () => Promise<T>): Promise<T> => fences.run(fence, call);

/** The fence of the call that runs now, for work that is handed to another process. */
export const currentFence = (): WriteFence | undefined => fences.getStore();

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** `fetch` that asks the fence of its call before each request that may write. Without a fence it is left as it is. */
export const fencedFetch =
  (fetch: Fetch): Fetch =>
  (input, init) => {
    const fence = fences.getStore();
    const request = input instanceof Request ? input : null;
    const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    if (!fence || safeMethods.has(method)) return fetch(input, init);
    const given = init?.signal ?? request?.signal;
    return fence.send((signal) => fetch(input, { ...init, signal: given ? AbortSignal.any([given, signal]) : signal }));
  };

/** Sends one request under several fences: each must let it pass. */
export const sendUnder = (all: readonly WriteFence[], request: (signal: AbortSignal) => Promise<Response>): Promise<Response> => {
  const [first, ...rest] = all;
  if (!first) return request(new AbortController().signal);
  return first.send((outer) => sendUnder(rest, (inner) => request(AbortSignal.any([outer, inner]))));
};
