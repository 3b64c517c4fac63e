import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { PluginError, type TcpAccess, type TcpConnection } from "@signalbox/sdk";

/** Maximum number of open connections of one plugin. */
const maxOpen = 16;
const connectMs = 10_000;
/** TCP keep-alive probes after this time detect a peer that disappeared without closing; milliseconds. */
const keepAliveMs = 15_000;

/** The connections of one plugin. */
interface TcpConnections extends TcpAccess {
  /** Closes all open connections. */
  closeAll(): void;
}

/** `servers`: the servers that connections may reach, as `host:port`. */
export function openTcp(name: string, servers: () => readonly string[]): TcpConnections {
  const open = new Set<Connection>();
  return {
    connect: async ({ host, port, tls }) => {
      const server = `${host}:${port}`;
      if (!servers().includes(server))
        throw new PluginError("failed", `The plugin ${name} cannot connect to ${server}: none of its settings names it.`);
      if (open.size >= maxOpen)
        throw new PluginError("failed", `The plugin ${name} has ${maxOpen} open connections; close one first.`);
      const connection = new Connection(host, port, tls);
      open.add(connection);
      void connection.closed.then(() => open.delete(connection));
      await connection.whenOpen();
      return connection;
    },
    closeAll: () => {
      for (const one of open) void one.close();
    },
  };
}

class Connection implements TcpConnection {
  readonly #host: string;
  readonly #server: string;
  #socket: Socket;
  #encrypted: boolean;
  #error: Error | null = null;
  readonly #closing = Promise.withResolvers<void>();

  constructor(host: string, port: number, tls: boolean) {
    this.#host = host;
    this.#server = `${host}:${port}`;
    this.#encrypted = tls;
    this.#socket = this.#watch(tls ? connectTls({ host, port, ...this.#serverName() }) : connect({ host, port }));
    this.#socket.setNoDelay(true);
    this.#socket.setKeepAlive(true, keepAliveMs);
  }

  get closed(): Promise<void> {
    return this.#closing.promise;
  }

  async whenOpen(): Promise<void> {
    const signal = AbortSignal.timeout(connectMs);
    try {
      await once(this.#socket, this.#encrypted ? "secureConnect" : "connect", { signal });
    } catch (error) {
      this.#socket.destroy();
      throw this.#unreachable(signal.aborted ? "no answer" : reasonOf(error));
    }
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      const socket = this.#socket;
      const chunk: Buffer | null = socket.read();
      if (chunk) return chunk;
      if (socket.readableEnded) return null;
      if (socket.destroyed) throw this.#lost();
      await new Promise<void>((done) => {
        const end = () => {
          for (const event of ["readable", "end", "close"]) socket.off(event, end);
          done();
        };
        for (const event of ["readable", "end", "close"]) socket.on(event, end);
      });
    }
  }

  write(bytes: Uint8Array): Promise<void> {
    return new Promise((done, fail) => {
      if (this.#socket.destroyed || this.#socket.writableEnded) return fail(this.#lost());
      this.#socket.write(bytes, (error) => (error ? fail(this.#lost()) : done()));
    });
  }

  async startTls(): Promise<void> {
    if (this.#encrypted) return;
    this.#encrypted = true;
    this.#socket = this.#watch(connectTls({ socket: this.#socket, ...this.#serverName() }));
    await this.whenOpen();
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }

  /** Used for certificates; an IP address has no server name. */
  #serverName() {
    return isIP(this.#host) ? { host: this.#host } : { servername: this.#host };
  }

  #watch<S extends Socket>(socket: S): S {
    socket.on("error", (error) => {
      this.#error = error;
    });
    socket.on("close", () => this.#closing.resolve());
    return socket;
  }

  #lost(): PluginError {
    const reason = this.#error ? reasonOf(this.#error) : "it was closed";
    return new PluginError("unavailable", `The connection to ${this.#server} was lost: ${reason}.`);
  }

  #unreachable(reason: string): PluginError {
    return new PluginError("unavailable", `${this.#server} could not be reached: ${reason}.`);
  }
}

/** The code of an error if it has one, because its message may describe the host's network. */
const reasonOf = (error: unknown): string => String((error as { code?: unknown }).code ?? (error as Error).message);
