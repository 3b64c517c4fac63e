import { afterEach, expect, test, vi } from "vitest";
import { changeOf, LiveStream } from "./stream.ts";
import { execution, minuteMs, signal, take } from "./test-stream.ts";

afterEach(() => void vi.useRealTimers());

test("a stream that is read slowly keeps the last change of each execution, and ends if it is too far behind", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  stream.begin();
  for (const state of ["queued", "running", "succeeded"]) stream.push(changeOf(execution(state), state));
  expect((await stream.changes(signal).next()).value).toMatchObject({ at: "succeeded" });
  for (let second = 0; second < 40; second++) {
    for (let n = 0; n < 200; n++) stream.push(changeOf(execution("running", second * 200 + n), ""));
    vi.advanceTimersByTime(1_000);
  }
  expect(stream.isOver).toBe(true);
  await expect(stream.changes(signal).next()).rejects.toThrow(/read too slowly/);
});

test("a stream that is read does not end when thousands of executions change at once, twice", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  for (let second = 0; second < 60; second++) {
    for (let n = 0; second % 30 === 0 && n < 10_000; n++) stream.push(changeOf(execution("queued", second * minuteMs + n), ""));
    await take(stream, 160);
    stream.push(changeOf(execution("running", second), ""));
    vi.advanceTimersByTime(1_000);
  }
  expect(stream.isOver).toBe(false);
});

test("a stream ends when 50,000 changes wait, even if its reader takes a missed event from time to time", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  let n = 0;
  for (; n < 60_000 && !stream.isOver; n++) {
    stream.push(changeOf(execution("queued", n), ""));
    if (n % 1_000 === 0) vi.advanceTimersByTime(10_000);
    if (n % 1_000 === 0) stream.recordRead();
  }
  expect(n).toBe(50_001);
});
