import { issueOpened } from "../harness/alpha-payloads.ts";
import { at, load } from "./load.ts";
import type { Side } from "./side.ts";

export const secret = "bench-secret";

/** Address to which webhooks are sent. */
interface Door {
  readonly port: number | readonly number[];
}

let issue = 0;
const payload = () => issueOpened({ repo: "bench/app", number: ++issue });

/**
 * Events per second from the first webhook to the last comment, and how long webhooks waited for their response, in milliseconds.
 */
export async function throughput(
  { port }: Door,
  side: Side,
  requests: number,
  connections: number,
): Promise<{ readonly rate: number; readonly p50: number; readonly p99: number }> {
  const before = (await side.counts()).comments;
  const bodies = Array.from({ length: requests }, payload);
  const began = performance.now();
  const { p50, p99 } = await load({ port, secret, connections, requests, payload: (n) => bodies[n] as object });
  await side.commented(before + requests);
  return { rate: requests / ((performance.now() - began) / 1000), p50, p99 };
}

/** Median time from webhook to comment without the model's own time, one event at a time; milliseconds. */
export async function overhead({ port }: Door, side: Side, delay: number, events = 40): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < events; i++) {
    const before = (await side.counts()).comments;
    const began = performance.now();
    const commented = side.commented(before + 1);
    await load({ port, secret, connections: 1, requests: 1, payload });
    await commented;
    times.push(performance.now() - began - delay);
  }
  return at(
    times.sort((a, b) => a - b),
    0.5,
  );
}
