import { setImmediate as nextTurn } from "node:timers/promises";
import { problem } from "@signalbox/schema/problem";
import { type JsonFault, readJson } from "./json.ts";
import { siblingFile } from "./sibling-file.ts";
import { SingleWorker } from "./single-worker.ts";

/** Texts up to this size, in bytes, are parsed on the calling thread, which takes a few milliseconds. */
const smallBytes = 262_144;
/**
 * Maximum time for parsing one text, in milliseconds. The largest take a few seconds of processor time, so an overloaded machine may
 * need many times as long. The limit is generous, because most trackers do not send a refused webhook again.
 */
const limitMs = 60_000;
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
  const worker = new SingleWorker<Question, Answer>({
    file: siblingFile(import.meta.url, "large-json-worker"),
    limitMs,
    idleMs,
    memoryMb,
  });
  const parseInThread = async (bytes: Uint8Array): Promise<Read> => {
    const answer = await worker.ask({ bytes }).catch((cause) => {
      throw problem("unavailable", "The body could not be parsed: it needs too much memory or time.", { retryAfter: 5, cause });
    });
    if (!("text" in answer)) return answer;
    const value: unknown = JSON.parse(answer.text);
    // What follows would be added to the time in which no other request is served.
    await nextTurn();
    return { value };
  };
  return {
    parse: (bytes) => (bytes.byteLength <= smallBytes ? readJson(bytes) : parseInThread(bytes)),
    close: () => worker.close(),
  };
}
