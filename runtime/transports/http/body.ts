import { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import { problem } from "@signalbox/schema/problem";
import type { Context as HonoContext } from "hono";
import { nextTurnIfLarge } from "../../platform/next-turn.ts";
import { type Answer, onceFinished } from "./pipelining.ts";

/**
 * Maximum time for receiving a body, and the maximum of a random addition, so that bodies that began together do not end
 * together. Milliseconds.
 */
const [bodyMs, spreadMs] = [30_000, 1_000];

/** Maximum number of bodies that arrive at the same time. Each takes about 30 KB, even if few bytes have arrived. */
const maxArriving = 4_000;

/** Counts the bytes of all request bodies in memory, of all clients. */
export class BodyBudget {
  readonly #most: number;
  #bytes = 0;
  readonly #arriving = new Set<Arrival>();

  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `unavailable` if the budget is used up. */
  reserve(bytes: number): void {
    if (this.#bytes + bytes > this.#most) throw tooManyBodies;
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Counts a body until what is returned is called. If there are too many, the one that arrives most slowly is refused: most arrive
   * within milliseconds.
   */
  track(arrival: Arrival): () => void {
    if (this.#arriving.size === maxArriving) {
      const now = performance.now();
      let slowest: [Arrival, number] | undefined;
      for (const one of this.#arriving) {
        const rate = (one.bytes + headStart) / (now - one.since + 1);
        if (!slowest || rate < slowest[1]) slowest = [one, rate];
      }
      if (slowest) this.#arriving.delete(slowest[0]);
      slowest?.[0].refuse();
    }
    this.#arriving.add(arrival);
    return () => this.#arriving.delete(arrival);
  }
}

/** A body that is arriving. */
interface Arrival {
  /** By `performance.now`. */
  readonly since: number;
  bytes: number;
  readonly refuse: () => void;
}

/** Bytes that are added to what a body has received, so that one that has just begun does not count as slow. */
const headStart = 16_384;

const tooManyBodies = problem("unavailable", "Too many request bodies are being received. Send this one again in a moment.", {
  retryAfter: 1,
});

export interface BodyLimits {
  /** Maximum size of a body, in bytes. */
  readonly maxBytes: number;
  /** Default: no budget. */
  readonly budget?: BodyBudget | undefined;
}

/**
 * Reads a request's body. Refuses one that is too large, too slow or exceeds the budget before it is in memory. Reads from the
 * socket if there is one, because that is fastest, and leaves the connection usable if a body is refused midway.
 */
export async function readBody(c: HonoContext, limits: BodyLimits): Promise<Uint8Array> {
  const { incoming, outgoing } = (c.env ?? {}) as Partial<HttpBindings>;
  const hold = holder(limits.budget, outgoing);
  try {
    if (incoming) {
      refuseLargeBody(c, limits.maxBytes);
      invite(incoming, outgoing);
      return await collect(incoming, incoming.headers["content-length"], limits, hold);
    }
    const { body } = c.req.raw;
    if (!body) return new Uint8Array(0);
    return await collect(body as unknown as AsyncIterable<Uint8Array>, c.req.header("content-length"), limits, hold);
  } catch (error) {
    // Otherwise the rest of the body would be read as the next request, or arrive endlessly.
    if (error === late || error === tooManyBodies) c.header("Connection", "close");
    throw error;
  }
}

/**
 * Passes on a request's body that other code reads, with the same time limit and budget. Its bytes count until `response` is
 * closed. Throws `request_timeout` or `unavailable`; after that error is answered, the rest of the body is not awaited.
 */
export async function* boundedBody(request: Readable, response: Answer, budget: BodyBudget): AsyncGenerator<Uint8Array> {
  const hold = holder(budget, response);
  invite(request, response);
  try {
    for await (const chunk of inTime(keptOpen(request), budget)) {
      hold(chunk.byteLength);
      yield chunk;
    }
  } catch (error) {
    if ("stream" in response) response.stream.once("wantTrailers", () => setImmediate(() => response.stream.close()));
    else response.shouldKeepAlive = false;
    throw error;
  }
}

/** Tells a client that waits for it to send the body. Others have begun to, and those of HTTP/1.0 would take it for the answer. */
function invite(request: Readable, response: object | undefined): void {
  if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
  if (request.headers.expect !== undefined && request.httpVersion !== "1.0") response.writeContinue();
}

const late = problem("request_timeout", `The body did not arrive within ${bodyMs / 1000} seconds; send it again.`);

const tooLarge = (max: number) => problem("too_large", `The body is larger than ${max} bytes.`);

/** Throws `too_large` if the `Content-Length` exceeds the limit, before any part of the body is read. */
export function refuseLargeBody(c: HonoContext, maxBytes: number): void {
  if (Number(c.req.header("content-length")) > maxBytes) throw tooLarge(maxBytes);
}

/** Counts the bytes of one request until it is answered, because they are in memory until then. */
function holder(budget: BodyBudget | undefined, answer: Answer | undefined): (bytes: number) => void {
  if (!budget || !answer) return () => {};
  let ownBytes = 0;
  let isOver = false;
  return (bytes) => {
    // What is read after the end is not kept for an answer, and nothing would release it.
    if (isOver || bytes === 0) return;
    budget.reserve(bytes);
    ownBytes += bytes;
    if (ownBytes > bytes) return;
    onceFinished(answer, () => {
      isOver = true;
      budget.release(ownBytes);
    });
  };
}

async function collect(
  stream: AsyncIterable<Uint8Array>,
  declared: string | undefined,
  { maxBytes: max, budget }: BodyLimits,
  hold: (bytes: number) => void,
): Promise<Uint8Array> {
  if (declared && Number(declared) > max) throw tooLarge(max);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const take = (chunk: Uint8Array) => {
    size += chunk.byteLength;
    if (size > max) throw tooLarge(max);
    hold(chunk.byteLength);
    chunks.push(chunk);
  };
  // A small body usually arrives together with the headers. Then it is read without a timer and without waiting for each part.
  const isWhole = stream instanceof IncomingMessage && readAvailable(stream, take, () => declared === `${size}`);
  if (!isWhole) for await (const chunk of inTime(keptOpen(stream), budget)) take(chunk);
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const body = Buffer.concat(chunks, size);
  // It is hashed next.
  await nextTurnIfLarge(size);
  return body;
}

/**
 * Passes on the part of a request's body that has arrived. Returns whether it is the whole body. Node reports the end of a request
 * later than its last byte, so `hasAll` says whether the declared length has arrived.
 */
function readAvailable(request: IncomingMessage, take: (chunk: Uint8Array) => void, hasAll: () => boolean): boolean {
  for (let chunk: Uint8Array | null = request.read(); chunk !== null; chunk = request.read()) take(chunk);
  const isWhole = hasAll() || (request.complete && request.readableLength === 0);
  // Otherwise its end would never be read, and the listener would wait for it.
  if (isWhole) request.resume();
  return isWhole;
}

/**
 * Throws `late` when the time for the whole body has passed, and `tooManyBodies` if too many others arrive, even while no chunk
 * arrives.
 */
async function* inTime(stream: AsyncIterable<Uint8Array>, budget: BodyBudget | undefined): AsyncGenerator<Uint8Array> {
  const iterator = stream[Symbol.asyncIterator]();
  const { promise: over, reject: fail } = Promise.withResolvers<never>();
  over.catch(() => {});
  const timer = setTimeout(() => fail(late), bodyMs + Math.random() * spreadMs);
  const arrival: Arrival = { since: performance.now(), bytes: 0, refuse: () => fail(tooManyBodies) };
  const arrived = budget?.track(arrival);
  let ended = false;
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), over]);
      if (next.done) {
        ended = true;
        return;
      }
      arrival.bytes += next.value.byteLength;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    arrived?.();
    // Not awaited, because it ends only when the next chunk arrives.
    if (!ended) iterator.return?.()?.catch(() => {});
  }
}

/**
 * If reading stops early, the stream of the request must not be destroyed, because its connection would be neither read nor
 * closed.
 */
const keptOpen = (stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  stream instanceof Readable ? stream.iterator({ destroyOnReturn: false }) : stream;
