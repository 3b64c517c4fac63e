import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections, which would take that of a service while it restarts. */
const [lowest, highest] = [10_000, 32_000];

/** Ports of 127.0.0.1 that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listening));
  await Promise.all(servers.map(({ server }) => new Promise((done) => server.close(done))));
  return servers.map(({ port }) => port);
}

async function listening(): Promise<{ port: number; server: ReturnType<typeof createServer> }> {
  for (;;) {
    const port = randomInt(lowest, highest);
    const server = createServer();
    const isFree = await new Promise<boolean>((done) =>
      server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)),
    );
    if (isFree) return { port, server };
  }
}
