import { operation } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { Events, handle, type ServerEvent } from "../../platform/operation.ts";
import { createApp, type HttpOptions } from "./app.ts";
import { anonymous } from "./authenticate.ts";
import { CheckedReader, eventStream } from "./event-stream.ts";
import { noLog } from "./testing/door.ts";

const revoked = () => problem("unauthenticated", "revoked");
const explain = (error: unknown) => (error as Error).message;

/** Events without end. `isOver`: their reader was released. */
function manyEvents() {
  const source = { isOver: false, all: undefined as unknown as AsyncIterable<ServerEvent> };
  async function* all(): AsyncGenerator<ServerEvent> {
    try {
      for (let data = 1; ; data++) yield { event: "step", data };
    } finally {
      source.isOver = true;
    }
  }
  source.all = all();
  return source;
}

function withFakeTimers(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

test("the stream of a refused reader ends although the reader has stopped reading", async () => {
  withFakeTimers();
  const source = manyEvents();
  let checks = 0;
  const reader = new CheckedReader(async () => {
    checks++;
    throw revoked();
  });
  const response = eventStream(source.all, explain, reader);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([checks, source.isOver]).toEqual([1, true]);
  expect(await response.text()).toMatch(/^event: step\ndata: 1\n\n.*event: error\ndata: \{"error":"revoked"\}\n\n$/s);
});

test("a refusal after the reader has disconnected changes nothing", async () => {
  withFakeTimers();
  const source = manyEvents();
  const refusal = Promise.withResolvers<never>();
  const reader = new CheckedReader(() => refusal.promise);
  const response = eventStream(source.all, explain, reader);
  await vi.advanceTimersByTimeAsync(2_000);
  await response.body?.cancel();
  refusal.reject(revoked());
  await vi.advanceTimersByTimeAsync(10_000);
  expect([reader.signal.aborted, source.isOver]).toEqual([true, true]);
});

test("only operations with events read the request's signal and check their reader", async () => {
  const reads: string[] = [];
  const context: HttpOptions["context"] = (request, actor) => ({
    sql: undefined as never,
    log: noLog,
    actor,
    get signal() {
      reads.push("signal");
      return request.signal;
    },
    get last_event_id() {
      reads.push("last_event_id");
      return "7";
    },
  });
  const define = (name: string, more: object) =>
    operation({
      id: `a.${name}`,
      http: `GET /api/${name}`,
      summary: "A",
      description: "A.",
      input: z.object({}),
      output: z.object({}),
      ...more,
    });
  const stream = async function* (id: string | undefined): AsyncGenerator<ServerEvent> {
    yield { event: "step", data: { id } };
  };
  const operations = [
    handle(define("plain", {}), async () => ({})),
    handle(define("silent", { serverSentEvents: z.any() }), async () => new Events(stream(undefined))),
    handle(define("stream", { serverSentEvents: z.any() }), async (_, { last_event_id }) => new Events(stream(last_event_id))),
  ];
  const app = createApp({
    operations,
    authenticate: async () => anonymous,
    context,
    maxBodyBytes: 1_000,
    log: noLog,
    version: "0.0.0",
  });
  const get = async (path: string) => (await app.request(path)).text();
  expect([await get("/api/plain"), reads]).toEqual(["{}", []]);
  await get("/api/silent");
  expect(reads).toEqual(["signal"]);
  expect(await get("/api/stream")).toContain('{"id":"7"}');
  expect(reads).toEqual(["signal", "signal", "last_event_id"]);
});
