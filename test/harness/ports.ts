import { type AddressInfo, createServer } from "node:net";

/** Ports of 127.0.0.1 that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listening));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

const listening = () =>
  new Promise<ReturnType<typeof createServer>>((done, fail) => {
    const server = createServer();
    server.once("error", fail).listen(0, "127.0.0.1", () => done(server));
  });
