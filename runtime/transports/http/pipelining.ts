import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Most requests of one connection that wait for their answers. Clients wait for an answer before they send the next request, or send few in advance. */
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
  response.once("close", () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
  return true;
}
