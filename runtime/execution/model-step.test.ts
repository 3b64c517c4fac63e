import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ChatAnswer } from "../llm/chat-messages.ts";
import type { Conversation } from "./conversation.ts";
import { isCut, requireAnswer } from "./final-answer.ts";
import { Lease, LeaseLost } from "./lease.ts";
import { askModel } from "./model-step.ts";
import type { ModelOutput } from "./step-log.ts";
import { Transcript } from "./steps/transcript.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(async () => {
  // Ends the pause in which first requests gather: it would have no timer in the next test.
  await vi.advanceTimersByTimeAsync(20);
  vi.useRealTimers();
});

const answer: ChatAnswer = {
  content: "Done.",
  toolCalls: [],
  finishReason: "stop",
  refusal: null,
  model: "m",
  promptTokens: 1,
  completionTokens: 1,
  costUsd: null,
};

/** The first request of an attempt. The test answers the write of its step and the request. */
function firstRequest() {
  const write = Promise.withResolvers<boolean>();
  const written: unknown[] = [];
  const response = Promise.withResolvers<ChatAnswer>();
  const lease = new Lease(600, performance.now());
  const chat = vi.fn((_: unknown, signal: AbortSignal) => {
    signal.addEventListener("abort", () => response.reject(signal.reason));
    return response.promise;
  });
  const log = new Transcript({ id: "e", lease: "l" }, [], (change) => {
    written.push(structuredClone(change));
    return write.promise;
  });
  const conversation = {
    id: "e",
    plan: { agent_id: null, model: "m", temperature: null, messages: [], tools: [] },
    log,
    signal: lease.signal,
    execution: {
      limits: { lease, stopSignal: new AbortController().signal, windowMs: 10_000, unconfirmedStepIds: new Set() },
      budget: { reserve: async () => {}, release: async () => {}, reportUnpriced: () => {} },
      guard: (_: unknown, call: () => unknown) => call(),
    },
  } as unknown as Conversation;
  const deps = { llm: { chat, timeoutMs: 120_000 }, tools: new Map(), prices: { of: () => null } };
  const ask = (limit: string | null = null) => askModel(conversation, [], limit, deps as never);
  return { ask, chat, write, written, response, lease, log };
}

test("the first request is sent while its step is being stored, and answered after it", async () => {
  const { ask, chat, write, written, response, log } = firstRequest();
  const asked = ask();
  await vi.advanceTimersByTimeAsync(0);
  expect(chat).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(20);
  expect(written).toMatchObject([{ steps: [{ kind: "model", state: "started" }] }]);
  response.resolve(answer);
  await vi.advanceTimersByTimeAsync(0);
  expect(log.steps[0]?.state).toBe("started");
  write.resolve(true);
  expect((await asked).state).toBe("succeeded");
});

test("an answer that arrives at once is stored together with its step", async () => {
  const { ask, written, response, log } = firstRequest();
  const asked = ask();
  response.resolve(answer);
  expect((await asked).state).toBe("succeeded");
  await vi.advanceTimersByTimeAsync(20);
  expect(written).toEqual([]);
  log.flush({ state: "succeeded" }).catch(() => {});
  expect(written).toMatchObject([{ steps: [{ kind: "model", state: "succeeded", is_answered: true }], completed: [] }]);
});

test("a request that fails at once is stored with its failure", async () => {
  const { ask, written, response, log } = firstRequest();
  const asked = ask();
  response.reject(new Error("refused"));
  await expect(asked).rejects.toThrow("refused");
  await vi.advanceTimersByTimeAsync(20);
  expect(written).toEqual([]);
  log.flush({ state: "failed" }).catch(() => {});
  expect(written).toMatchObject([{ steps: [{ kind: "model", state: "started" }] }]);
});

test("if the step cannot be stored, the request is aborted", async () => {
  const { ask, chat, write } = firstRequest();
  const asked = ask();
  await vi.advanceTimersByTimeAsync(20);
  write.resolve(false);
  await expect(asked).rejects.toThrow(LeaseLost);
  expect(chat.mock.lastCall?.[1].aborted).toBe(true);
});

test("a failed request fails the attempt once its step is stored", async () => {
  const { ask, write, response } = firstRequest();
  let isOver = false;
  const asked = ask().finally(() => {
    isOver = true;
  });
  asked.catch(() => {});
  await vi.advanceTimersByTimeAsync(20);
  response.reject(new Error("refused"));
  await vi.advanceTimersByTimeAsync(0);
  expect(isOver).toBe(false);
  write.resolve(true);
  await expect(asked).rejects.toThrow("refused");
});

test("an attempt whose lease has ended sends nothing", async () => {
  const { ask, chat, lease } = firstRequest();
  lease.lose("cancelled");
  await expect(ask()).rejects.toThrow(LeaseLost);
  expect(chat).not.toHaveBeenCalled();
});

test("storing the step does not shorten the time for the request", async () => {
  const { ask, write, response, lease } = firstRequest();
  const asked = ask();
  await vi.advanceTimersByTimeAsync(20);
  // As the writes of an attempt do.
  lease.progress(60_000);
  write.resolve(true);
  await vi.advanceTimersByTimeAsync(110_000);
  expect(lease.isStalled()).toBe(false);
  response.resolve(answer);
  await asked;
});

test.each([
  ["refused", { content: "", refusal: "No." }, "refused to answer"],
  ["filtered", { content: "Do", finishReason: "content_filter" }, "content filter"],
])("the last answer of a run over its limit fails if it is %s, like any other", async (_, given, reason) => {
  const { ask, response, log } = firstRequest();
  response.resolve({ ...answer, ...given });
  const step = await ask("1 write");
  expect(() => requireAnswer((step.output as ModelOutput).content, step, log)).toThrow(reason);
});

test("the last answer of a run over its limit is only the notice if the model wrote no text", async () => {
  const { ask, response, log } = firstRequest();
  response.resolve({ ...answer, content: "" });
  const step = await ask("1 write");
  const { content } = step.output as ModelOutput;
  expect(content).toMatch(/^_This answer was cut short: .*1 write/);
  expect(() => requireAnswer(content, step, log)).not.toThrow();
});

test("the last answer of a run over its limit says so, and is not continued if it was cut off", async () => {
  const { ask, response } = firstRequest();
  response.resolve({ ...answer, finishReason: "length" });
  const output = (await ask("1 write")).output as ModelOutput;
  expect([output.content, isCut(output)]).toEqual([
    expect.stringMatching(/^Done\.\n\n_This answer was cut short: .*1 write/),
    false,
  ]);
});
