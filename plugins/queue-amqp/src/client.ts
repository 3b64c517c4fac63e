import { AMQPBaseClient } from "@cloudamqp/amqp-client/amqp-base-client";
import { AMQPChannel } from "@cloudamqp/amqp-client/amqp-channel";
import { AMQPView } from "@cloudamqp/amqp-client/amqp-view";
import { type Capabilities, PluginError, type TcpAccess, type TcpConnection } from "@signalbox/sdk";
import type { Config } from "./config.ts";

/** "AMQP" and the version 0-9-1: the first bytes of a connection. */
const protocolHeader = Uint8Array.of(65, 77, 81, 80, 0, 0, 9, 1);
/** Size of a frame without its payload: type, channel and size in front, and the end byte. */
const frameOverhead = 8;
const frameMax = 131_072;
const connectMs = 10_000;

export type Connect = () => Promise<HostClient>;

/** Connects and logs in. Throws a `PluginError`. */
export async function openClient({ tcp, secret }: Pick<Capabilities, "tcp" | "secret">, { url }: Config): Promise<HostClient> {
  if (url === "") throw new PluginError("not_configured", "Set url, for example amqps://rabbitmq.example.com:5671/");
  const server = new URL(url);
  const client = new HostClient(tcp, server, (await secret("user")) ?? "guest", (await secret("password")) ?? "guest");
  const late = setTimeout(() => client.end(new Error(`no answer within ${connectMs} ms`)), connectMs);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.end();
    throw error instanceof PluginError ? error : refusalOf(server.host, error as Error);
  } finally {
    clearTimeout(late);
  }
}

/** The host's own errors, for example that the server could not be reached, name it already. */
function refusalOf(host: string, error: Error): PluginError {
  const text = error.message.startsWith(host)
    ? error.message
    : /ACCESS_REFUSED/.test(error.message)
      ? `${host} refused the login; correct the settings user and password (${error.message})`
      : `${host} refused the connection: ${error.message}`;
  return new PluginError("unavailable", text, { cause: error });
}

/** The client's connection, over the TCP connections of the host. */
export class HostClient extends AMQPBaseClient {
  readonly #tcp: TcpAccess;
  readonly #server: URL;
  readonly #ended = Promise.withResolvers<void>();
  #connection: TcpConnection | null = null;
  /** The beginning of a frame whose rest was not read yet. */
  #rest: Uint8Array = new Uint8Array();
  /** Resolves when more may be read from the connection. */
  room: () => Promise<void> = async () => {};

  constructor(tcp: TcpAccess, server: URL, user: string, password: string) {
    super(decodeURIComponent(server.pathname.slice(1)) || "/", user, password, "signalbox", "signalbox", frameMax);
    this.#tcp = tcp;
    this.#server = server;
    this.onerror = () => {};
  }

  /** Resolves when the connection has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async connect(): Promise<AMQPBaseClient> {
    const { protocol, hostname, port } = this.#server;
    const host = hostname.replace(/^\[|\]$/g, "");
    this.#connection = await this.#tcp.connect({ host, port: Number(port), tls: protocol === "amqps:" });
    this.channels = [new AMQPChannel(this, 0)];
    const connected = new Promise<AMQPBaseClient>((done, fail) => {
      this.connectPromise = [done, fail];
    });
    connected.catch(() => {});
    void this.#read(this.#connection);
    await this.send(protocolHeader);
    return connected;
  }

  async send(bytes: Uint8Array): Promise<void> {
    if (!this.#connection) throw new PluginError("unavailable", `The connection to ${this.#server.host} is closed.`);
    await this.#connection.write(bytes);
  }

  protected closeSocket(): void {
    this.end();
  }

  /** Ends the connection; what waits for an answer fails. */
  end(error: Error = new Error("the connection was closed")): void {
    const connection = this.#connection;
    this.#connection = null;
    this.closed = true;
    const [, refuse] = this.connectPromise ?? [];
    delete this.connectPromise;
    refuse?.(error);
    for (const channel of this.channels) channel?.setClosed(error);
    void connection?.close().catch(() => {});
    this.#ended.resolve();
  }

  async #read(connection: TcpConnection): Promise<void> {
    try {
      for (let bytes = await connection.read(); bytes !== null; bytes = await connection.read()) {
        this.#take(bytes);
        await this.room();
      }
      this.end(new Error("the server closed the connection"));
    } catch (error) {
      this.end(error as Error);
    }
  }

  #take(bytes: Uint8Array): void {
    const all = new Uint8Array(this.#rest.byteLength + bytes.byteLength);
    all.set(this.#rest);
    all.set(bytes, this.#rest.byteLength);
    const whole = wholeFrames(all);
    this.#rest = all.subarray(whole);
    if (whole > 0) this.parseFrames(new AMQPView(all.buffer, 0, whole));
  }
}

/** How many bytes are whole frames. */
function wholeFrames(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + frameOverhead <= bytes.byteLength) {
    const size = view.getUint32(at + 3) + frameOverhead;
    if (at + size > bytes.byteLength) break;
    at += size;
  }
  return at;
}
