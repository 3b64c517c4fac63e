import type { Server } from "node:http";
import type { Socket } from "node:net";
import { onceOver } from "./pipelining.ts";

/**
 * Limits the connections of a server. For a further one, the connection that has been without a request for longest is closed, also
 * if it has sent a part of one; if each has a request, the new one is closed. So connections that anyone can open and hold do not
 * keep others out.
 */
export function limitConnections(server: Server, most: number): Server {
  /** The connections without a request, in the order in which they became so. */
  const idle = new Set<Socket>();
  const requests = new Map<Socket, number>();
  server.on("connection", (socket: Socket) => {
    if (requests.size >= most) {
      const [oldest = socket] = idle;
      // Its event "close" follows later.
      forget(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    requests.set(socket, 0);
    idle.add(socket);
    socket.once("close", () => forget(socket));
  });
  const forget = (socket: Socket) => {
    requests.delete(socket);
    idle.delete(socket);
  };
  server.on("request", ({ socket }, response) => {
    const before = requests.get(socket);
    if (before === undefined) return;
    requests.set(socket, before + 1);
    idle.delete(socket);
    onceOver(response, () => {
      const now = requests.get(socket);
      if (now === undefined) return;
      requests.set(socket, now - 1);
      if (now === 1) idle.add(socket);
    });
  });
  return server;
}
