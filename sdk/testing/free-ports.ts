import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below the ports that systems use for outgoing connections: such a connection could take the port of a server while it restarts.
 * Each worker of vitest has a range of its own, and other processes share the second half.
 */
const [lowest, middle, highest] = [10_000, 21_000, 32_000];
const maxWorkers = 10;
const worker = Number(process.env.VITEST_POOL_ID ?? Number.NaN);
const [min, max] = Number.isInteger(worker) ? rangeOf(worker % maxWorkers) : [middle, highest];

function rangeOf(place: number): [min: number, max: number] {
  const size = (middle - lowest) / maxWorkers;
  return [lowest + place * size, lowest + (place + 1) * size];
}

/** The only port in this range that `fetch` refuses: https://fetch.spec.whatwg.org/#port-blocking. */
const blockedPort = 10_080;

/** The ports are taken in turn: of random ones, two servers that start at the same time would sometimes get the same. */
let latest = randomInt(min, max);
const nextPort = (): number => {
  latest = latest + 1 < max ? latest + 1 : min;
  return latest === blockedPort ? nextPort() : latest;
};

/** Different ports of 127.0.0.1 that are free now, for servers that a test starts and restarts. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenOnFreePort));
  await Promise.all(servers.map(({ server }) => new Promise((done) => server.close(done))));
  return servers.map(({ port }) => port);
}

async function listenOnFreePort(): Promise<{ port: number; server: ReturnType<typeof createServer> }> {
  for (;;) {
    const port = nextPort();
    const server = createServer();
    const isFree = await new Promise<boolean>((done) =>
      server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)),
    );
    if (isFree) return { port, server };
  }
}
