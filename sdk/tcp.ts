/** A TCP connection that the host holds for the plugin. Once it is lost, calls throw `PluginError` with the code `unavailable`. */
export interface TcpConnection {
  /** The next bytes, at most 64 KiB; `null` once the other side has closed the connection. One call at a time. */
  read(): Promise<Uint8Array | null>;
  /** Resolves once the operating system has accepted the bytes. Bytes are sent in the order of the calls. */
  write(bytes: Uint8Array): Promise<void>;
  /** Encrypts the connection from now on, for protocols that start in plain text. The certificate must be valid for the host. */
  startTls(): Promise<void>;
  close(): Promise<void>;
}

/** Opens TCP connections, for protocols other than HTTP. */
export interface TcpAccess {
  /**
   * Connects to a server in the plugin's settings, given as a URL with this host and port (`nats://bus.example.com:4222`;
   * a setting may list several, comma-separated). `tls`: encrypted from the first byte. Throws `PluginError`: `failed` if no
   * setting names it, `unavailable` if it cannot be reached.
   */
  connect(server: { readonly host: string; readonly port: number; readonly tls: boolean }): Promise<TcpConnection>;
}
