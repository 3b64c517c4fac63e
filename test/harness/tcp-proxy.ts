import { connect, createServer, type Server, type Socket } from "node:net";
import { TcpDirection } from "./tcp-direction.ts";

export type Direction = "to-server" | "to-client";

/** A TCP proxy on loopback in front of a server: connections through it can be reset, frozen, delayed, or lose their answers. */
export interface TcpProxy {
  readonly port: number;
  /** Number of open connections of clients. */
  readonly open: number;
  /** Number of connections of clients accepted so far. */
  readonly accepted: number;
  /** Local ports of the open connections to the server: by them it knows its clients. */
  readonly serverPorts: readonly number[];
  /** Resets every connection, as a crash of the server does, and refuses new ones until `mend`. */
  cut(): Promise<void>;
  /** Resets every connection once; new ones are accepted. */
  reset(): void;
  /**
   * Silence, as from a network that drops packets: connections remain open, new ones are accepted, and no data is forwarded, not
   * even the end of a connection. Default: both directions.
   */
  freeze(direction?: Direction): void;
  /**
   * Every currently open connection becomes silent permanently, as if the server was replaced behind its address without notice:
   * data sent on it is lost, and no response arrives. New connections work. `mend` resets the silent ones.
   */
  strand(): void;
  /** Delays all data by this many milliseconds in each direction; 0 ends the delay. */
  delay(ms: number): void;
  /**
   * The next `count` connections (default: 1) that send bytes matching `when` (default: any) get no response from then on: the
   * server receives the request and carries it out, but the client is not notified.
   */
  loseAnswers(options?: { readonly count?: number; readonly when?: RegExp }): LostAnswers;
  /**
   * Ends every fault: accepts connections again, on the same port, and forwards data that a freeze held back. Connections whose
   * responses were lost are reset. `held: "reset"`: frozen connections are reset too, as by a firewall that has forgotten them.
   */
  mend(options?: { readonly held?: "deliver" | "reset" }): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface LostAnswers {
  /** Number of connections that became silent so far. */
  readonly lost: number;
}

/** Listens on loopback and forwards each connection to `host:port`. */
export async function startTcpProxy(host: string, port: number): Promise<TcpProxy> {
  const proxy = new LoopbackProxy(host, port);
  await proxy.listen();
  return proxy;
}

/** The same, with the address of the proxied server: `postgres://…`, `redis://…` or `http://…` through the proxy. */
export async function startUrlProxy(address: string): Promise<TcpProxy & { readonly url: string }> {
  const url = new URL(address);
  const defaults: Readonly<Record<string, number>> = { "postgres:": 5432, "postgresql:": 5432, "redis:": 6379, "http:": 80 };
  const proxy = new LoopbackProxy(url.hostname, Number(url.port) || (defaults[url.protocol] ?? 0));
  await proxy.listen();
  url.host = `127.0.0.1:${proxy.port}`;
  const through = url.pathname === "/" && !address.endsWith("/") ? url.href.replace(/\/$/, "") : url.href;
  return Object.assign(proxy, { url: through });
}

interface Connection {
  readonly near: Socket;
  readonly far: Socket;
  readonly directions: readonly [TcpDirection, TcpDirection];
  /** Its answers are lost. */
  silent: boolean;
}

interface Loss {
  readonly when: RegExp | null;
  readonly count: number;
  lost: number;
}

class LoopbackProxy implements TcpProxy {
  readonly #host: string;
  readonly #port: number;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #losses: Loss[] = [];
  #frozen: readonly Direction[] = [];
  #delayMs = 0;
  port = 0;
  accepted = 0;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
    // Half-open: the end of one direction is forwarded after the data before it.
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
  }

  get open(): number {
    return [...this.#connections].filter(({ near }) => !near.closed).length;
  }

  get serverPorts(): number[] {
    return [...this.#connections].flatMap(({ far }) => far.localPort ?? []);
  }

  async listen(): Promise<void> {
    if (this.#server.listening) return;
    await new Promise<void>((done, fail) => {
      this.#server.once("error", fail);
      this.#server.listen(this.port, "127.0.0.1", () => {
        this.#server.off("error", fail);
        done();
      });
    });
    this.port = (this.#server.address() as { port: number }).port;
  }

  #accept(near: Socket): void {
    this.accepted++;
    const far = connect({ host: this.#host, port: this.#port, allowHalfOpen: true });
    for (const socket of [near, far]) socket.setNoDelay(true);
    const toServer = new TcpDirection(near, far, this.#delayMs, (chunk) => this.#lookAt(connection, chunk));
    const toClient = new TcpDirection(far, near, this.#delayMs);
    const connection: Connection = { near, far, directions: [toServer, toClient], silent: false };
    this.#connections.add(connection);
    this.#apply(connection);
    const closed = () => near.closed && far.closed && this.#connections.delete(connection);
    for (const socket of [near, far]) socket.once("close", closed);
  }

  /** Before the bytes are forwarded, so that no response to them can arrive first. */
  #lookAt(connection: Connection, chunk: Buffer): void {
    if (connection.silent) return;
    const loss = this.#losses.find(({ when, count, lost }) => lost < count && (when?.test(chunk.toString("latin1")) ?? true));
    if (!loss) return;
    loss.lost++;
    connection.silent = true;
    connection.directions[1].drop();
  }

  #apply({ directions: [toServer, toClient] }: Connection): void {
    toServer.frozen = this.#frozen.includes("to-server");
    toClient.frozen = this.#frozen.includes("to-client");
    for (const direction of [toServer, toClient]) direction.delayMs = this.#delayMs;
  }

  freeze(direction?: Direction): void {
    this.#frozen = direction ? [direction] : ["to-server", "to-client"];
    for (const connection of this.#connections) this.#apply(connection);
  }

  strand(): void {
    for (const connection of this.#connections) {
      connection.silent = true;
      for (const direction of connection.directions) direction.drop();
    }
  }

  delay(ms: number): void {
    this.#delayMs = ms;
    for (const connection of this.#connections) this.#apply(connection);
  }

  loseAnswers({ count = 1, when }: { readonly count?: number; readonly when?: RegExp } = {}): LostAnswers {
    const loss: Loss = { when: when ?? null, count, lost: 0 };
    this.#losses.push(loss);
    return loss;
  }

  reset(): void {
    for (const connection of this.#connections) resetBoth(connection);
  }

  async cut(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    this.reset();
    await closed;
  }

  async mend({ held = "deliver" }: { readonly held?: "deliver" | "reset" } = {}): Promise<void> {
    const frozen = this.#frozen.length > 0;
    this.#frozen = [];
    this.#delayMs = 0;
    this.#losses.length = 0;
    for (const connection of this.#connections) {
      if (connection.silent || (frozen && held === "reset")) resetBoth(connection);
      else this.#apply(connection);
    }
    await this.listen();
  }

  close(): Promise<void> {
    return this.cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cut();
  }
}

function resetBoth({ near, far }: Connection): void {
  for (const socket of [near, far]) socket.resetAndDestroy();
}
