import type OpenAI from "openai";
import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";

export interface PostOptions {
  readonly client: OpenAI;
  readonly path: string;
  readonly fetch: typeof globalThis.fetch;
  /** Timeout of one request with its answer. */
  readonly timeoutMs: number;
}
/** Sends a body as JSON and gives the value of the answer; the text of one that is no JSON. Throws errors of the package. */
export type Post = (body: object, signal: AbortSignal, headers: Readonly<Record<string, string>>) => Promise<unknown>;

/**
 * Requests that are answered whole. Their address and headers are those of the package, made once: what it does for each request costs more
 * than the rest of the step.
 */
export function createPost({ client, path, fetch, timeoutMs }: PostOptions): Post {
  let head: Promise<{ readonly url: string; readonly headers: Record<string, string> }> | undefined;
  const makeHead = async () => {
    const { url, req } = await client.buildRequest({ method: "post", path, body: {}, timeout: timeoutMs });
    return { url, headers: Object.fromEntries(req.headers) };
  };
  return async (body, signal, more) => {
    head ??= makeHead();
    const { url, headers } = await head;
    const ended = new AbortController();
    const end = () => ended.abort();
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, timeoutMs);
    const inTime = <T>(step: Promise<T>): Promise<T> =>
      step.catch((error) => {
        if (signal.aborted) throw new APIUserAbortError();
        throw isLate ? new APIConnectionTimeoutError() : error;
      });
    try {
      const sent = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body), signal: ended.signal };
      const response = await inTime(fetch(url, sent).catch(unreached));
      const text = await inTime(response.text());
      if (!response.ok) throw APIError.generate(response.status, parsed(text) as object, text, response.headers as Headers);
      const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
      return type.includes("application/json") || type.endsWith("+json") ? JSON.parse(text) : text;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  };
}

/** The operating system's own time limit is one, too. */
function unreached(error: Error): never {
  const isTimeout = /timed? ?out/i.test(`${error} ${error.cause ?? ""}`);
  throw isTimeout
    ? Object.assign(new APIConnectionTimeoutError(), { cause: error })
    : new APIConnectionError({ message: error.message, cause: error });
}

/** Absent where the text is no JSON: the error's message is the text then. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
