import { Worker } from "node:worker_threads";
import { problem } from "@signalbox/schema/problem";
import { type JsonFault, readJson } from "./json.ts";
import { siblingFile } from "./sibling-file.ts";

/** Texts up to this size, in bytes, are parsed on the calling thread, which takes a few milliseconds. */
const smallBytes = 262_144;
/** Maximum time for parsing one text, not including the wait for the worker; milliseconds. */
const limitMs = 20_000;
/** An idle worker ends after this time and frees its memory; milliseconds. */
const idleMs = 10_000;
const memoryMb = 1_024;

export interface Question {
  readonly bytes: Uint8Array;
}
/** `text`: JSON of the value, cut to the limits of `large-json-worker.ts`. */
export type Answer = { readonly text: string } | JsonFault;

type Read = ReturnType<typeof readJson>;

/** Parses JSON texts of webhooks. Large ones are parsed in a thread, one at a time, so that they delay no other request. */
export interface LargeJson {
  /**
   * Returns the value of a text. In a large value, the longest arrays and strings and the deepest members are truncated, because
   * the members that a source reads are near the top. Throws a problem if the thread fails.
   */
  parse(bytes: Uint8Array): Promise<Read> | Read;
  close(): void;
}

export function createLargeJson(): LargeJson {
  let worker: Worker | null = null;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let lastTask: Promise<unknown> = Promise.resolve();
  const end = () => {
    clearTimeout(idleTimer);
    void worker?.terminate();
    worker = null;
  };
  const ask = async (bytes: Uint8Array): Promise<Read> => {
    clearTimeout(idleTimer);
    worker ??= startWorker();
    try {
      const answer = await answerOf(worker, bytes);
      idleTimer = setTimeout(end, idleMs);
      idleTimer.unref();
      return "text" in answer ? { value: JSON.parse(answer.text) } : answer;
    } catch (error) {
      end();
      throw problem("unavailable", "The body could not be parsed: it needs too much memory or time.", {
        retryAfter: 5,
        cause: error,
      });
    }
  };
  return {
    parse: (bytes) => {
      if (bytes.byteLength <= smallBytes) return readJson(bytes);
      const result = lastTask.then(() => ask(bytes));
      lastTask = result.catch(() => {});
      return result;
    },
    close: end,
  };
}

function startWorker(): Worker {
  const worker = new Worker(siblingFile(import.meta.url, "large-json-worker"), {
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  worker.unref();
  return worker;
}

function answerOf(worker: Worker, bytes: Uint8Array): Promise<Answer> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => complete(() => fail(new Error(`no answer within ${limitMs} ms`))), limitMs);
    const onAnswer = (answer: Answer) => complete(() => done(answer));
    const onFailure = (error: unknown) => complete(() => fail(error));
    const complete = (act: () => void) => {
      clearTimeout(timer);
      worker.off("message", onAnswer).off("error", onFailure).off("exit", onFailure);
      act();
    };
    worker.on("message", onAnswer).on("error", onFailure).on("exit", onFailure);
    worker.postMessage({ bytes } satisfies Question);
  });
}
