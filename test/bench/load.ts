import { createHmac, randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { issueOpened } from "../harness/alpha-payloads.ts";

/** The result of a load: requests per second, latency in milliseconds, and the kinds of responses. */
interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly statuses: Readonly<Record<string, number>>;
}
export interface LoadOptions {
  /** Several ports: connections are distributed over them. */
  readonly port: number | readonly number[];
  readonly connections: number;
  readonly requests: number;
  readonly secret: string;
  /** Creates the payload of the n-th request. Default: the same one each time. */
  readonly payload?: (n: number) => object;
  /** Name of the event. Default: `issues`. */
  readonly event?: string;
}

const path = "/webhook/alpha";

/**
 * Sends signed webhooks over plain sockets, one request at a time per connection, each delivery with a separate id. Requests are
 * created before the measurement starts, because the load shares two cores with the measured program.
 */
export async function load(options: LoadOptions): Promise<Load> {
  const make = requestMaker(options);
  const requests = Array.from({ length: options.requests }, (_, n) => make(n));
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const ports = [options.port].flat();
  const targets = Array.from({ length: options.connections }, (_, n) => ports[n % ports.length] as number);
  const sockets = await Promise.all(targets.map(open));
  let next = 0;
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      const answers = reader(socket);
      while (next < requests.length) {
        const request = requests[next++] as Buffer;
        const sent = performance.now();
        socket.write(request);
        const status = await answers();
        times.push(performance.now() - sent);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const socket of sockets) socket.destroy();
  times.sort((a, b) => a - b);
  return { perSecond: options.requests / seconds, p50: at(times, 0.5), p99: at(times, 0.99), statuses };
}

export const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

function requestMaker({ secret, payload, event = "issues" }: LoadOptions): (n: number) => Buffer {
  const fixed = payload ? null : body(issueOpened({ repo: "bench/app", number: 1 }), secret);
  return (n) => {
    const { bytes, signature } = fixed ?? body(payload?.(n) ?? {}, secret);
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n` +
      `X-Alpha-Event: ${event}\r\nX-Alpha-Delivery: ${randomUUID()}\r\nX-Hub-Signature-256: ${signature}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), bytes]);
  };
}

function body(payload: object, secret: string) {
  const bytes = Buffer.from(JSON.stringify(payload));
  return { bytes, signature: `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}` };
}

const open = (port: number): Promise<Socket> =>
  new Promise((done, fail) => {
    const socket = connect(port, "127.0.0.1", () => done(socket));
    socket.setNoDelay(true);
    socket.once("error", fail);
  });

/** Reads complete responses, with `Content-Length` or chunked, and returns their status. */
function reader(socket: Socket): () => Promise<string> {
  let pending = "";
  let respond: ((status: string) => void) | null = null;
  let broken: Error | null = null;
  let fail: (error: Error) => void = () => {};
  const end = () => {
    broken = new Error("the server closed the connection");
    fail(broken);
  };
  socket.on("data", (chunk) => {
    pending += chunk.toString("latin1");
    const head = pending.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = /content-length: (\d+)/i.exec(pending.slice(0, head))?.[1];
    const whole = length ? pending.length >= head + 4 + Number(length) : pending.endsWith("0\r\n\r\n");
    if (!whole) return;
    const status = pending.slice(9, 12);
    pending = "";
    respond?.(status);
  });
  socket.on("close", end);
  return () =>
    new Promise((done, reject) => {
      if (broken) return reject(broken);
      respond = done;
      fail = reject;
    });
}
