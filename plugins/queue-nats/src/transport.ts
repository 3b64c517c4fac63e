import { type ConnectionOptions, checkOptions, INFO, type Server, type Transport } from "@nats-io/nats-core/internal";
import type { TcpAccess, TcpConnection } from "@signalbox/sdk";

/** Longest first line of a server. */
const maxInfo = 65_536;

/** The client's connection to a server, over the TCP connections of the host. */
export class HostTransport implements Transport {
  readonly lang = "signalbox";
  readonly version = "0.1.0";
  readonly #tcp: TcpAccess;
  readonly #ended = Promise.withResolvers<undefined | Error>();
  #connection: TcpConnection | null = null;
  /** What was read together with the first line. */
  #first: Uint8Array = new Uint8Array();
  #encrypted = false;
  isClosed = false;
  closeError?: Error;

  constructor(tcp: TcpAccess) {
    this.#tcp = tcp;
  }

  async connect({ hostname, port, src }: Server, options: ConnectionOptions): Promise<void> {
    const connection = await this.#tcp.connect({ host: hostname, port, tls: false });
    this.#connection = connection;
    const info = await this.#readInfo(connection);
    checkOptions(info as never, options);
    if (info.tls_required || src.startsWith("tls://")) {
      await connection.startTls();
      this.#encrypted = true;
    }
  }

  /** The server's first line says what it requires. */
  async #readInfo(connection: TcpConnection): Promise<{ tls_required?: boolean }> {
    let bytes = new Uint8Array();
    while (bytes.byteLength < maxInfo) {
      const more = await connection.read();
      if (more === null) break;
      bytes = Uint8Array.from([...bytes, ...more]);
      const text = new TextDecoder().decode(bytes);
      if (!text.includes("\r\n")) continue;
      const info = INFO.exec(text)?.[1];
      if (!info) break;
      this.#first = bytes;
      return JSON.parse(info);
    }
    throw new Error("The server does not speak NATS.");
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    yield this.#first;
    try {
      while (!this.isClosed) {
        const bytes = (await this.#connection?.read()) ?? null;
        if (bytes === null) break;
        yield bytes;
      }
      this.#end();
    } catch (error) {
      this.#end(error as Error);
    }
  }

  isEncrypted(): boolean {
    return this.#encrypted;
  }

  send(frame: Uint8Array): void {
    this.#connection?.write(frame).catch((error) => this.#end(error));
  }

  async close(error?: Error): Promise<void> {
    this.#end(error);
  }

  disconnect(): void {
    this.#end();
  }

  discard(): void {
    this.#end();
  }

  closed(): Promise<undefined | Error> {
    return this.#ended.promise;
  }

  #end(error?: Error): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (error) this.closeError = error;
    void this.#connection?.close().catch(() => {});
    this.#ended.resolve(error);
  }
}
