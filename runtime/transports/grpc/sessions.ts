import type { Http2SecureServer, Http2Server, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex as Stream } from "node:stream";
import { TurnLimit } from "../../platform/turn-limit.ts";
import { limitConnections } from "../http/connections.ts";
import type { NodeHandler } from "./calls.ts";

interface SessionLimits {
  /** Milliseconds after which a connection that does not answer a ping is closed. */
  readonly keepAliveMs: number;
  /** Milliseconds after which a connection without a call is closed. */
  readonly idleMs: number;
  /** Most connections. For a further one, the one that has been idle longest is closed. */
  readonly maxConnections: number;
  /** Milliseconds that a client has to close a connection after it was asked to. */
  readonly closeMs: number;
}

/** Wait for the last bytes of the answers when the server stops, in milliseconds. */
const lastBytesMs = 500;

/** Most streams of `Watch` of one connection. A client needs one per service that it watches. */
const maxWatches = 10;

const watchPath = "/grpc.health.v1.Health/Watch";

/** Health and reflection, which need no key. */
const isKeyless = (path: string): boolean => /^\/grpc\.(health|reflection)\./.test(path);

/** The calls of one connection. */
interface Use {
  readonly socket: Socket | undefined;
  calls: number;
  /** When it last had a call, by `performance.now`. */
  since: number;
  /** The same without the calls that need no key. */
  readonly keyed: { readonly calls: Set<ServerHttp2Stream>; since: number };
  watches: number;
  /** When its client was asked to close it. */
  askedAt: number | null;
}

/** Whether a call that needs a key is handled: its request has arrived, and its answer is not complete. A client may never read that. */
const isHandled = (call: ServerHttp2Stream): boolean => (call.readableEnded || call.endAfterHeaders) && !call.writableEnded;

/** Whether such a call uses the connection. */
const isKept = ({ keyed }: Use): boolean => [...keyed.calls].some(isHandled);

/** Tracks the open connections, and closes those that are unused, too many, or whose peer does not answer a ping. */
export function keepSessions(
  server: Http2Server | Http2SecureServer,
  { keepAliveMs, idleMs, maxConnections, closeMs }: SessionLimits,
) {
  const open = new Map<ServerHttp2Session, Use>();
  const sockets = new Set<Socket>();
  const unansweredPings = new WeakSet<ServerHttp2Session>();
  const excessStreams = new WeakSet<Stream>();
  const sessionsEnd = Promise.withResolvers<void>();
  let ending = false;
  const endIfUnused = () => {
    if (!ending || [...open.values()].some(({ calls }) => calls > 0)) return;
    if (open.size === 0) sessionsEnd.resolve();
    // The last answers may still be on their way, and a client may never close its connection.
    else setTimeout(sessionsEnd.resolve, lastBytesMs).unref();
  };
  const breakOff = (session: ServerHttp2Session, { socket }: Pick<Use, "socket">) => {
    session.destroy();
    // A session that is closed, by its client too, keeps its socket until the client closes that, also when it is destroyed.
    socket?.destroy();
  };
  /**
   * Makes room for one more. Returns whether there is room. Calls that need no key, and those whose request has not arrived or whose
   * answer is not read, do not keep a connection, because anyone can make them.
   */
  const makeRoom = (): boolean => {
    if (open.size < maxConnections) return true;
    let idlest: [ServerHttp2Session, Use] | undefined;
    for (const one of open) if (!isKept(one[1]) && !(idlest && idlest[1].keyed.since <= one[1].keyed.since)) idlest = one;
    if (!idlest) return false;
    open.delete(idlest[0]);
    breakOff(...idlest);
    return true;
  };
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const forgetPending = limitWithoutSession(server, maxConnections);
  // A session does not give its socket away; the event "session" follows in the same turn.
  let newestSocket: Socket | undefined;
  for (const event of ["connection", "secureConnection"])
    server.prependListener(event, (socket: Socket) => {
      newestSocket = socket;
    });
  server.on("session", (session: ServerHttp2Session) => {
    const socket = newestSocket;
    if (socket) forgetPending(socket);
    session.on("error", () => session.destroy());
    if (!makeRoom()) return breakOff(session, { socket });
    const now = performance.now();
    const use: Use = { socket, calls: 0, since: now, keyed: { calls: new Set(), since: now }, watches: 0, askedAt: null };
    open.set(session, use);
    // First, so that the excess is known when the call is handled.
    session.prependListener("stream", (stream: ServerHttp2Stream, { ":path": path = "" }: IncomingHttpHeaders) => {
      const isKeyed = !isKeyless(path);
      use.calls++;
      if (isKeyed) use.keyed.calls.add(stream);
      const isWatch = path === watchPath;
      if (isWatch && ++use.watches > maxWatches) excessStreams.add(stream);
      stream.once("close", () => {
        if (isWatch) use.watches--;
        use.calls--;
        use.since = performance.now();
        if (isKeyed && use.keyed.calls.delete(stream)) use.keyed.since = use.since;
        endIfUnused();
      });
    });
    session.once("close", () => {
      open.delete(session);
      endIfUnused();
    });
  });
  const check = (session: ServerHttp2Session, use: Use) => {
    const now = performance.now();
    const isIdle = use.calls === 0 && (session.closed || session.destroyed || now - use.since > idleMs);
    if (unansweredPings.has(session)) breakOff(session, use);
    else if (!isIdle) use.askedAt = null;
    else if (use.askedAt === null) {
      use.askedAt = now;
      session.close();
    } else if (now - use.askedAt > closeMs) breakOff(session, use);
    if (session.destroyed || session.closed || use.askedAt !== null) return;
    unansweredPings.add(session);
    session.ping((error) => !error && unansweredPings.delete(session));
  };
  const timer = setInterval(() => {
    for (const [session, use] of open) check(session, use);
  }, keepAliveMs);
  timer.unref();
  return {
    open,
    /** Whether a call is one of too many of its connection. */
    isExcess: (stream: Stream): boolean => excessStreams.has(stream),
    whenEnded() {
      ending = true;
      endIfUnused();
      return sessionsEnd.promise;
    },
    breakAll() {
      clearInterval(timer);
      for (const [session, use] of open) breakOff(session, use);
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * Limits the connections that are not HTTP/2 sessions: with TLS, those that have not finished the handshake or use HTTP/1.1. Returns what
 * to call with the socket of a new session.
 */
function limitWithoutSession(server: Http2Server | Http2SecureServer, maxConnections: number): (socket: Socket) => void {
  if (!("setSecureContext" in server)) {
    // Each connection is a session at once.
    server.maxConnections = 2 * maxConnections;
    return () => {};
  }
  // A TLS socket does not expose its TCP socket, but both have the same remote address and port.
  const connections = new Map<string, Socket>();
  const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  const tcpSocketOf = (socket: Socket) => connections.get(addressOf(socket));
  const others = limitConnections(server, maxConnections, tcpSocketOf);
  server.on("connection", (socket: Socket) => {
    const address = addressOf(socket);
    connections.set(address, socket);
    socket.once("close", () => connections.get(address) === socket && connections.delete(address));
  });
  return (socket) => {
    const connection = tcpSocketOf(socket);
    if (connection) others.forget(connection);
  };
}

/** How many calls begin in one turn of the event loop: each takes up to half a millisecond, and one packet can hold hundreds of them. */
const perTurn = 32;

export function inTurns(handle: NodeHandler): NodeHandler {
  const turns = new TurnLimit(perTurn);
  return (request, response) =>
    turns.begin(
      () => handle(request, response),
      // The client may have withdrawn it.
      () => response.destroyed || ("stream" in response && response.stream?.destroyed === true),
    );
}
