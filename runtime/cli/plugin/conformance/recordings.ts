import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { FaultInjector, isApplied, type Recording, type TestTracker, type TrackerFault } from "@signalbox/sdk/testing";
import { z } from "zod";
import { messageOf } from "../../../platform/error-text.ts";
import { firstProblem } from "../../../platform/issue-text.ts";
import { jsonOr } from "../../../platform/json.ts";
import { makeFolder } from "../../../platform/make-folder.ts";
import { PackageError } from "../package-error.ts";

type Fetch = typeof globalThis.fetch;

const recording = z.strictObject({
  reads: z.boolean().optional(),
  request: z.strictObject({ method: z.string(), url: z.url(), body: z.unknown().optional() }),
  response: z.strictObject({
    status: z.int().min(100).max(599),
    headers: z.record(z.string(), z.string()).optional(),
    body: z.unknown().optional(),
  }),
});
const file = z.union([recording, z.array(recording)]);

/** Reads all exchanges in the JSON files of a folder, in the order of the file names. Throws a `PackageError`. */
export function readRecordings(folder: string): Recording[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.sort().flatMap((name) => {
    const parsed = file.safeParse(parseJson(join(folder, name)));
    if (parsed.success) return parsed.data as Recording | Recording[];
    const { path, text } = firstProblem(parsed.error);
    throw new PackageError("NO_CONFORMANCE", `${join(folder, name)} is not a valid recording: ${path}: ${text}`);
  });
}

function parseJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new PackageError("NO_CONFORMANCE", `${path} is not valid JSON: ${messageOf(error)}`);
  }
}

/** Answers requests from recordings instead of the real server, with faults if a case injects them. */
export class RecordedTracker implements TestTracker {
  readonly url = "http://127.0.0.1:9";
  readonly #recordings: readonly Recording[];
  readonly #uses = new Map<Recording, number>();
  /** Requests that no recording answers. */
  readonly unansweredRequests = new Set<string>();
  readonly #fault = new FaultInjector();
  #writes = 0;

  constructor(recordings: readonly Recording[]) {
    this.#recordings = recordings;
  }

  comments = (): readonly string[] => [];
  writes = (): number => this.#writes;
  fault(fault: TrackerFault): void {
    this.#fault.set(fault);
  }
  heal(): void {
    this.#fault.heal();
  }
  async close(): Promise<void> {
    this.heal();
    this.#uses.clear();
  }

  readonly fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const fault = this.#fault.next(request.method, new URL(request.url).pathname);
    if (fault?.kind === "hang") return untilAborted(init?.signal);
    const answer = isApplied(fault) ? await this.#answer(request) : new Response("{}");
    if (fault?.kind === "drop") throw connectionDropped();
    if (fault?.kind === "truncate") return truncate(await answer.text(), answer);
    if (fault)
      return new Response(fault.body ?? "{}", {
        status: fault.status ?? 500,
        headers: { "content-type": "application/json", ...fault.headers },
      });
    return answer;
  };

  /** Whether a recording answers this request. */
  async answers(input: Parameters<Fetch>[0], init?: RequestInit): Promise<boolean> {
    const request = new Request(input, init);
    return this.#matching(request, await request.text()).length > 0;
  }

  #matching({ method, url }: Request, sent: string): Recording[] {
    return this.#recordings.filter(
      ({ request }) => request.method === method && request.url === url && sameBody(request.body, sent),
    );
  }

  async #answer(request: Request): Promise<Response> {
    const text = await request.text();
    const matching = this.#matching(request, text);
    // Recordings of the same request are used one after the other; the last one is repeated.
    const nextRecording = matching.find((one) => !this.#uses.has(one)) ?? matching.at(-1);
    if (!nextRecording) {
      this.unansweredRequests.add(`${request.method} ${request.url}${text ? ` ${text.slice(0, 500)}` : ""}`);
      throw connectionDropped();
    }
    this.#uses.set(nextRecording, (this.#uses.get(nextRecording) ?? 0) + 1);
    if (!nextRecording.reads && request.method !== "GET" && request.method !== "HEAD") this.#writes += 1;
    return responseOf(nextRecording.response);
  }
}

function sameBody(recorded: unknown, sent: string): boolean {
  if (recorded === undefined) return true;
  if (typeof recorded === "string") return recorded === sent;
  return isDeepStrictEqual(jsonOr(sent, undefined), recorded);
}

function responseOf({ status, headers, body }: Recording["response"]): Response {
  const empty = body === undefined || [101, 204, 205, 304].includes(status);
  const text = empty ? null : typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "content-type": "application/json", ...headers } });
}

const connectionDropped = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" }) });

const untilAborted = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, fail) => signal?.addEventListener("abort", () => fail(signal.reason), { once: true }));

/** A successful response whose connection ends early. */
function truncate(text: string, { status, headers }: Response): Response {
  const bytes = new TextEncoder().encode(text);
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, bytes.byteLength / 2)),
    pull: (controller) => controller.error(connectionDropped()),
  });
  return new Response(stream, { status, headers });
}

const recordedHeaders = /^(content-type|link|retry-after|etag|location)$/;

/**
 * Sends the request to the real server and records the response for the next run. Credentials are sent in headers, which are not
 * recorded.
 */
export function recordingFetch(folder: string, recordings: Recording[]): Fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, url } = request;
    const body = await request.clone().text();
    const response = await globalThis.fetch(request);
    const text = await response.text();
    const headers = Object.fromEntries([...response.headers].filter(([name]) => recordedHeaders.test(name)));
    const one: Recording = {
      request: { method, url, ...(body && { body: jsonOr(body, body) }) },
      response: { status: response.status, headers, ...(text && { body: jsonOr(text, text) }) },
    };
    recordings.push(one);
    makeFolder(folder);
    const name = `${new URL(url).host.replaceAll(/[^a-z0-9.-]/g, "-")}-${String(recordings.length).padStart(3, "0")}.json`;
    writeFileSync(join(folder, name), `${JSON.stringify(one, null, 2)}\n`);
    return responseOf(one.response);
  };
}
