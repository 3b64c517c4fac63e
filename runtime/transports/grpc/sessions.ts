import type { Http2SecureServer, Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { NodeHandler } from "./calls.ts";

export interface SessionLimits {
  /** Milliseconds after which a connection that does not answer a ping is closed. */
  readonly keepAliveMs: number;
  /** Milliseconds after which a connection without a call is closed. */
  readonly idleMs: number;
  /** Most connections. For a further one, the one that has been idle longest is closed. */
  readonly most: number;
}

/** Time that a client has to close a connection after it was asked to; milliseconds. */
const graceMs = 10_000;

/** The calls of one connection. */
interface Use {
  calls: number;
  /** When it last had a call, by `performance.now`. */
  since: number;
  isClosing: boolean;
}

/** Tracks the open connections, and closes those that are unused, too many, or whose peer does not answer a ping. */
export function keepSessions(server: Http2Server | Http2SecureServer, { keepAliveMs, idleMs, most }: SessionLimits) {
  const open = new Map<ServerHttp2Session, Use>();
  const sockets = new Set<Socket>();
  const silent = new WeakSet<ServerHttp2Session>();
  const ended = Promise.withResolvers<void>();
  let ending = false;
  const endIfEmpty = () => {
    if (ending && open.size === 0) ended.resolve();
  };
  /** Makes room for one more. Returns whether there is room. */
  const makeRoom = (): boolean => {
    if (open.size < most) return true;
    let idlest: [ServerHttp2Session, Use] | undefined;
    for (const one of open) if (one[1].calls === 0 && !(idlest && idlest[1].since <= one[1].since)) idlest = one;
    idlest?.[0].destroy();
    if (idlest) open.delete(idlest[0]);
    return idlest !== undefined;
  };
  // Those that have not finished the handshake of TLS count, too.
  server.maxConnections = 2 * most;
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session: ServerHttp2Session) => {
    session.on("error", () => session.destroy());
    if (!makeRoom()) return session.destroy();
    const use: Use = { calls: 0, since: performance.now(), isClosing: false };
    open.set(session, use);
    session.on("stream", (stream: ServerHttp2Stream) => {
      use.calls++;
      stream.once("close", () => {
        use.calls--;
        use.since = performance.now();
      });
    });
    session.once("close", () => {
      open.delete(session);
      endIfEmpty();
    });
  });
  const check = (session: ServerHttp2Session, use: Use) => {
    const idle = use.calls > 0 ? 0 : performance.now() - use.since;
    if (silent.has(session) || idle > idleMs + graceMs) session.destroy();
    else if (idle > idleMs && !use.isClosing) {
      use.isClosing = true;
      session.close();
    } else if (!session.destroyed && !use.isClosing) {
      silent.add(session);
      session.ping((error) => !error && silent.delete(session));
    }
  };
  const timer = setInterval(() => {
    for (const [session, use] of open) check(session, use);
  }, keepAliveMs);
  timer.unref();
  return {
    open,
    ended() {
      ending = true;
      endIfEmpty();
      return ended.promise;
    },
    breakAll() {
      clearInterval(timer);
      for (const session of open.keys()) session.destroy();
      // A session that was asked to close keeps its socket until the peer closes it too, also when it is destroyed.
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** How many calls begin in one turn of the event loop: each takes up to half a millisecond. */
const perTurn = 32;

/** Begins further calls in the next turns: one packet can hold hundreds of them. */
export function inTurns(handle: NodeHandler): NodeHandler {
  type Call = Parameters<NodeHandler>;
  const waiting: Call[] = [];
  let begun = 0;
  const begin = ([request, response]: Call) => {
    if (begun++ === 0) setImmediate(nextTurn);
    handle(request, response);
  };
  const nextTurn = () => {
    begun = 0;
    // The client may have withdrawn them.
    while (begun < perTurn && waiting.length > 0) {
      const call = waiting.shift() as Call;
      if (!call[1].destroyed && !isWithdrawn(call)) begin(call);
    }
  };
  return (...call) => {
    if (begun < perTurn && waiting.length === 0) begin(call);
    else waiting.push(call);
  };
}

const isWithdrawn = ([, response]: Parameters<NodeHandler>): boolean =>
  "stream" in response && response.stream?.destroyed === true;
