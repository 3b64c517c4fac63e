import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { raceTimeout } from "../../platform/abortable.ts";
import { onceFinished } from "./pipelining.ts";

/** A connection with unanswered requests. */
interface Use {
  waiting: number;
  newest: IncomingMessage;
}

interface ConnectionLimit {
  /** No longer counts a connection, because it has another limit. */
  forget(socket: Socket): void;
}

/**
 * Limits the connections of a server. For a further one, the connection that has been without a request for longest is closed, also
 * if it has sent a part of one. If each has a request, the first one is closed that waits for its client to send the rest of a body
 * or to read the answer; if there is none, the new one is closed. So connections that anyone can open and hold do not keep others
 * out.
 *
 * `tcpSocketOf`: the connection of a request's socket, which differs from it with TLS.
 */
export function limitConnections(
  server: Server,
  most: number,
  tcpSocketOf: (socket: Socket) => Socket | undefined = (socket) => socket,
): ConnectionLimit {
  /** The connections without a request, in the order in which they became so. */
  const idle = new Set<Socket>();
  /** The others, in the order in which they became so. */
  const busy = new Map<Socket, Use>();
  const forget = (socket: Socket) => {
    idle.delete(socket);
    busy.delete(socket);
  };
  const leastRecentlyUsed = (): Socket | undefined => {
    for (const socket of idle) return socket;
    for (const [socket, { newest }] of busy) if (!newest.complete || newest.socket.writableLength > 0) return socket;
    return undefined;
  };
  server.on("connection", (socket: Socket) => {
    if (idle.size + busy.size >= most) {
      const closed = leastRecentlyUsed() ?? socket;
      // Its event "close" follows later.
      forget(closed);
      closed.destroy();
      if (closed === socket) return;
    }
    idle.add(socket);
    socket.once("close", () => forget(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    // HTTP/2 sessions have a limit of their own.
    const socket = request.httpVersionMajor < 2 && tcpSocketOf(request.socket);
    if (!socket) return;
    const use = busy.get(socket);
    if (use) {
      use.waiting++;
      use.newest = request;
    } else if (idle.delete(socket)) busy.set(socket, { waiting: 1, newest: request });
    else return;
    onceFinished(response, () => {
      const now = busy.get(socket);
      if (!now || --now.waiting > 0) return;
      busy.delete(socket);
      idle.add(socket);
    });
  });
  return { forget };
}

/** How long connections stay open after the last answer on any of them when the server stops, in milliseconds. */
const lingerMs = 500;

/**
 * Closes a server once the running requests are answered, at the latest after `limitMs`. The server's own `close` also waits
 * for connections without a request, which clients open in advance.
 *
 * A request may be on its way on a connection that seems idle. If the connection were closed at once, the request would be lost:
 * a proxy answers a webhook with 502 then. So all connections stay open for a moment after the last use of any, and the next answer
 * on each asks the client to close it.
 */
export function drainOf(server: HttpServer): (limitMs: number) => Promise<void> {
  const running = new Set<ServerResponse>();
  let lastUsedAt = Number.NEGATIVE_INFINITY;
  let isOpen = true;
  let mayLinger = true;
  const closeIfIdle = () => {
    if (!mayLinger && running.size === 0) server.closeAllConnections();
  };
  server.on("connection", () => {
    lastUsedAt = performance.now();
  });
  // First, while the answer can still be changed.
  server.prependListener("request", (_, response) => {
    running.add(response);
    if (!isOpen) response.setHeader("connection", "close");
    onceFinished(response, () => {
      running.delete(response);
      lastUsedAt = performance.now();
      closeIfIdle();
    });
  });
  return async (limitMs) => {
    isOpen = false;
    for (const response of running) if (!response.headersSent) response.setHeader("connection", "close");
    // Node would close the idle connections here.
    server.closeIdleConnections = () => {};
    const closed = new Promise<void>((done) => server.close(() => done()));
    const waitMs = Math.min(limitMs, Math.max(0, lastUsedAt + lingerMs - performance.now()));
    await raceTimeout(closed, waitMs, undefined);
    mayLinger = false;
    closeIfIdle();
    const timer = setTimeout(() => server.closeAllConnections(), limitMs - waitMs);
    await closed;
    clearTimeout(timer);
  };
}
