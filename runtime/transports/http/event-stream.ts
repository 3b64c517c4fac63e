import type { ServerEvent } from "../../platform/operation.ts";

/** After this time without an event, a comment is sent, because proxies close silent connections. */
const silenceMs = 15_000;

/** Streams share the data of their events, so each is turned into JSON once. */
const texts = new WeakMap<object, string>();
function jsonOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return JSON.stringify(data);
  const text = texts.get(data) ?? JSON.stringify(data);
  texts.set(data, text);
  return text;
}

/**
 * Responds with server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). An error after the first
 * event is sent as a last event `error`. When the reader disconnects, the source of the events ends.
 */
export function eventStream(events: AsyncIterable<ServerEvent>, explain: (error: unknown) => string): Response {
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      timer = setInterval(() => controller.enqueue(encoder.encode(": still here\n\n")), silenceMs);
    },
    pull: async (controller) => {
      const send = ({ event, id, data }: ServerEvent) =>
        controller.enqueue(encoder.encode(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${jsonOf(data)}\n\n`));
      try {
        const next = await iterator.next();
        if (!next.done) return send(next.value);
      } catch (error) {
        send({ event: "error", data: { error: explain(error) } });
      }
      clearInterval(timer);
      controller.close();
    },
    cancel: async () => {
      clearInterval(timer);
      await iterator.return?.();
    },
  });
  const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}
