import { Problem } from "@signalbox/schema/problem";
import type { ServerEvent } from "../../platform/operation.ts";

/** After this time without an event, a comment is sent, because proxies close silent connections. */
const silenceMs = 15_000;
/** Interval at which the reader's credentials are checked again, in milliseconds. */
const checkMs = 2_000;

/** Streams share the data of their events, so each is turned into JSON once. */
const texts = new WeakMap<object, string>();
function jsonOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return JSON.stringify(data);
  const text = texts.get(data) ?? JSON.stringify(data);
  texts.set(data, text);
  return text;
}

const encoder = new TextEncoder();
const bytesOf = ({ event, id, data }: ServerEvent): Uint8Array =>
  encoder.encode(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${jsonOf(data)}\n\n`);

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** A reader whose credentials are checked while its stream is open. */
export class CheckedReader {
  readonly #check: () => Promise<unknown>;
  readonly #refused = new AbortController();
  /** Aborted when its stream must end: with the reason of the refusal, or when the service stops. */
  readonly signal: AbortSignal;

  /** `check` throws if the reader may not read any longer, for example because its API key was revoked. */
  constructor(check: () => Promise<unknown>, stopping?: AbortSignal) {
    this.#check = check;
    this.signal = stopping ? AbortSignal.any([this.#refused.signal, stopping]) : this.#refused.signal;
  }

  /** While the database is unavailable, the credentials cannot be checked, and the stream continues. */
  check(): void {
    if (this.signal.aborted) return;
    this.#check().catch((error) => {
      if (error instanceof Problem && ["unauthenticated", "forbidden"].includes(error.code)) this.#refused.abort(error);
    });
  }
}

/**
 * Responds with server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). An error after the first
 * event is sent as a last event `error`. When the reader disconnects or its signal is aborted, the source of the events ends. While the
 * source waits for an event, it must end when that signal is aborted.
 */
export function eventStream(
  events: AsyncIterable<ServerEvent>,
  explain: (error: unknown) => string,
  reader: CheckedReader | null = null,
): Response {
  const iterator = events[Symbol.asyncIterator]();
  const timers: ReturnType<typeof setInterval>[] = [];
  let isOver = false;
  const stop = async () => {
    isOver = true;
    timers.forEach(clearInterval);
    await iterator.return?.();
  };
  const fail = async (controller: Controller, error: unknown) => {
    controller.enqueue(bytesOf({ event: "error", data: { error: explain(error) } }));
    controller.close();
    await stop();
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      timers.push(setInterval(() => controller.enqueue(encoder.encode(": still here\n\n")), silenceMs));
      if (!reader) return;
      timers.push(setInterval(() => reader.check(), checkMs));
      // Here and not in `pull`, which is not called while the reader does not read.
      reader.signal.addEventListener("abort", () => isOver || fail(controller, reader.signal.reason).catch(() => {}), {
        once: true,
      });
    },
    pull: async (controller) => {
      try {
        const next = await iterator.next();
        if (isOver) return;
        if (!next.done) return controller.enqueue(bytesOf(next.value));
      } catch (error) {
        if (isOver) return;
        return fail(controller, error);
      }
      controller.close();
      await stop();
    },
    cancel: stop,
  });
  const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}
