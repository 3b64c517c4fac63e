import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";

/**
 * Most requests of one connection that wait for their answers. Clients wait for an answer before they send the next request, or
 * send few in advance.
 */
const maxWaiting = 16;

const waiting = new WeakMap<Socket, number>();

/**
 * Whether a request is handled. A connection that sends many requests without waiting for the answers is closed: those of one packet
 * would all be handled in one turn of the event loop, and would fill the memory.
 */
export function admitPipelined(socket: Socket, response: ServerResponse): boolean {
  if (socket.destroyed) return false;
  const before = waiting.get(socket) ?? 0;
  if (before === maxWaiting) {
    socket.destroy();
    return false;
  }
  waiting.set(socket, before + 1);
  onceFinished(response, () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
  return true;
}

/** The response object of a request. */
export type Answer =
  | (Pick<ServerResponse, "once" | "shouldKeepAlive"> & {
      readonly closed?: boolean;
      readonly req?: Pick<IncomingMessage, "socket">;
    })
  | Pick<Http2ServerResponse, "once" | "stream">;

/** What to call when a connection closes. One listener per connection, which can have many requests. */
const unanswered = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `run` once, when a request is answered or its connection is closed. On Node 22, a response that waits behind another one
 * emits no `close` when its connection closes.
 */
export function onceFinished(response: Answer, run: () => void): void {
  const socket = "stream" in response ? undefined : response.req?.socket;
  const isOver = "stream" in response ? response.stream.destroyed : response.closed || socket?.closed;
  if (isOver) {
    run();
    return;
  }
  if (!socket) {
    response.once("close", run);
    return;
  }
  let all = unanswered.get(socket);
  if (!all) {
    const runs = new Set<() => void>();
    unanswered.set(socket, runs);
    socket.once("close", () => {
      for (const one of runs) one();
    });
    all = runs;
  }
  const runs = all;
  const over = () => {
    if (runs.delete(over)) run();
  };
  runs.add(over);
  response.once("close", over);
}
