import { connect, createServer, type Socket } from "node:net";

/** A way to a server that can be cut. */
export interface Breakable {
  readonly port: number;
  /** Ends every connection at once, as a crash of the server does, and refuses new ones. */
  cut(): Promise<void>;
  /** Lets connections through again, on the same port. */
  mend(): Promise<void>;
}

/** Listens on loopback and hands each connection on to `host:port`. */
export async function breakable(host: string, port: number): Promise<Breakable> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const listen = (at: number) => new Promise<void>((done) => server.listen(at, "127.0.0.1", done));
  await listen(0);
  const own = (server.address() as { port: number }).port;
  return {
    port: own,
    cut: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of open) socket.destroy();
      }),
    mend: () => listen(own),
  };
}
