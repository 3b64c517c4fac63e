import { AsyncLocalStorage } from "node:async_hooks";
import { linkSignals } from "./abortable.ts";
import { WholeResponse } from "./network/whole-response.ts";

/** Checks each request that may write to another service, immediately before it is sent. */
export interface WriteFence {
  /** Sends a request, with a signal that is aborted when its time ends. Throws without sending if it must not be sent. */
  send(request: (signal: AbortSignal) => Promise<Response>): Promise<Response>;
  /** Calls `unlink` when the write has ended, so that the signals of a response that arrives in parts remain linked until then. */
  untilClosed(unlink: () => void): void;
}

/** What remains linked until a write has ended. */
export class LinksOfWrite {
  readonly #unlinks: (() => void)[] = [];
  #isClosed = false;

  add(unlink: () => void): void {
    if (this.#isClosed) unlink();
    else this.#unlinks.push(unlink);
  }

  close(): void {
    this.#isClosed = true;
    for (const unlink of this.#unlinks.splice(0)) unlink();
  }
}

type Fetch = typeof globalThis.fetch;

const fences = new AsyncLocalStorage<WriteFence>();

/** Runs a call under a fence, which checks all writes that the call sends through `fencedFetch`, also asynchronously. */
export const runFenced = <T>(fence: WriteFence, call: () => Promise<T>): Promise<T> => fences.run(fence, call);

/** The fence of the current call, for work in another process. */
export const currentFence = (): WriteFence | undefined => fences.getStore();

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** A `fetch` whose requests that may write pass the fence of their call, if it has one. */
export const fencedFetch =
  (fetch: Fetch): Fetch =>
  (input, init) => {
    const fence = fences.getStore();
    const request = input instanceof Request ? input : null;
    const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    if (!fence || safeMethods.has(method)) return fetch(input, init);
    const callerSignal = init?.signal ?? request?.signal;
    return fence.send((signal) =>
      callerSignal
        ? underBoth(fence, callerSignal, signal, (both) => fetch(input, { ...init, signal: both }))
        : fetch(input, { ...init, signal }),
    );
  };

/** Sends a request that two signals abort, also while the body of its response arrives. */
async function underBoth(
  fence: WriteFence,
  caller: AbortSignal,
  ofFence: AbortSignal,
  send: (signal: AbortSignal) => Promise<Response>,
) {
  const { signal, unlink } = linkSignals([caller, ofFence]);
  let isBodyPending = false;
  try {
    const response = await send(signal);
    isBodyPending = !(response instanceof WholeResponse);
    return response;
  } finally {
    if (isBodyPending) fence.untilClosed(unlink);
    else unlink();
  }
}

/** Several fences as one. A request is sent if all of them allow it, and its write has ended when all of theirs have ended. */
export const joinFences = (all: readonly WriteFence[]): WriteFence => ({
  send: (request) => sendUnder(all, request),
  untilClosed: (unlink) => {
    let open = all.length;
    for (const one of all)
      one.untilClosed(() => {
        open--;
        if (open === 0) unlink();
      });
  },
});

/** Sends one request under several fences, all of which must allow it. */
export const sendUnder = (all: readonly WriteFence[], request: (signal: AbortSignal) => Promise<Response>): Promise<Response> => {
  const [first, ...rest] = all;
  if (!first) return request(new AbortController().signal);
  return first.send((outer) => sendUnder(rest, (inner) => request(AbortSignal.any([outer, inner]))));
};
