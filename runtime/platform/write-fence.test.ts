import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { currentFence, fencedFetch, joinFences, LinksOfWrite, runFenced, sendUnder, type WriteFence } from "./write-fence.ts";

const fence = (name: string, passed: string[], refuses = false): WriteFence => ({
  send: (request) => {
    if (refuses) throw new Error(`${name} refuses`);
    passed.push(name);
    return request(new AbortController().signal);
  },
  untilClosed: () => {},
});

test("a request under several fences is sent once, if each lets it pass", async () => {
  const passed: string[] = [];
  let sent = 0;
  const request = async () => {
    sent++;
    return new Response("{}");
  };
  await sendUnder([fence("a", passed), fence("b", passed)], request);
  expect([passed, sent]).toEqual([["a", "b"], 1]);
  await expect(async () => sendUnder([fence("a", passed), fence("b", passed, true)], request)).rejects.toThrow("b refuses");
  expect(sent).toBe(1);
});

test("a call's fence follows its asynchronous work, and no other", async () => {
  const own = fence("a", []);
  const seen: unknown[] = [];
  await Promise.all([
    runFenced(own, async () => {
      await new Promise((done) => setTimeout(done, 5));
      seen.push(currentFence());
    }),
    (async () => {
      await new Promise((done) => setTimeout(done, 1));
      expect(currentFence()).toBeUndefined();
    })(),
  ]);
  expect(seen).toEqual([own]);
});

test("the caller and the fence of a write can abort it, also while the body of its response arrives", async () => {
  const signals: AbortSignal[] = [];
  const fetch = fencedFetch(async (_, init) => {
    signals.push(init?.signal as AbortSignal);
    return new Response(new ReadableStream());
  });
  const [caller, own] = [new AbortController(), new AbortController()];
  const send = () =>
    runFenced({ send: (request) => request(own.signal), untilClosed: () => {} }, () =>
      fetch("http://tracker", { method: "POST", signal: caller.signal }),
    );
  await send();
  caller.abort();
  expect(signals[0]?.aborted).toBe(true);
  own.abort(new Error("the lease ended"));
  await send();
  expect(signals[1]?.aborted).toBe(true);
});

test("a response that arrives in parts leaves no listener when the writes of all its fences have ended", async () => {
  const caller = new AbortController();
  const fetch = fencedFetch(async () => new Response(new ReadableStream()));
  const links = [new LinksOfWrite(), new LinksOfWrite()];
  const fences = links.map((one): WriteFence => ({ ...fence("a", []), untilClosed: (unlink) => one.add(unlink) }));
  await runFenced(joinFences(fences), () => fetch("http://tracker", { method: "POST", signal: caller.signal }));
  const listeners = links.map((one) => {
    one.close();
    return getEventListeners(caller.signal, "abort").length;
  });
  expect(listeners).toEqual([1, 0]);
});
