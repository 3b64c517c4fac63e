import { innermost } from "../platform/error-text.ts";
import { hasMoreValuesThan, isDeeperThan, maxDepth, maxValues } from "../platform/json.ts";
import { withoutUrlSecrets } from "../platform/network/url-secrets.ts";
import { Failure } from "../platform/retry.ts";
import type { Parameters, ToolUse } from "./registered-tool.ts";

/** Timeout of one call, including its response. */
const callMs = 30_000;
/** Maximum length of a response, in bytes. */
const maxBytes = 1_048_576;

type Fetch = typeof globalThis.fetch;

/**
 * Sends the parameters to a tool's endpoint with POST and returns its response: as JSON if its Content-Type says so, otherwise as
 * text. A failed request is not repeated here, because the endpoint may have acted, and only the caller knows whether it may act
 * twice.
 */
export async function callEndpoint(fetch: Fetch, endpoint: string, input: Parameters, use: ToolUse): Promise<unknown> {
  const timeout = AbortSignal.timeout(callMs);
  const signal = AbortSignal.any([use.signal, timeout]);
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/*;q=0.9", "idempotency-key": use.key },
      body: JSON.stringify(input),
      // Following a redirect would send the parameters to a host that the tool does not name.
      redirect: "manual",
      signal,
    });
    const bytes = await readBytes(response, maxBytes);
    if (bytes === null) throw failure(`returned more than ${maxBytes} bytes`);
    if (!response.ok)
      throw failure(
        `answered ${response.status}: ${withoutUrlSecrets(utf8.decode(bytes), endpoint).slice(0, 300) || "(no text)"}`,
      );
    return readAnswer(bytes, response.headers.get("content-type") ?? "");
  } catch (error) {
    use.signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    if (timeout.aborted) throw failure(`did not answer within ${callMs / 1000} s; it is unknown whether it acted`);
    throw failure(`could not be reached: ${reason(error)}`, error);
  }
}

const failure = (what: string, cause?: unknown) => new Failure(`The tool's endpoint ${what}.`, { retryable: false, cause });

/** Bytes that are not UTF-8 are replaced. */
const utf8 = new TextDecoder();

function readAnswer(bytes: Uint8Array, type: string): unknown {
  const text = utf8.decode(bytes);
  if (text === "") return null;
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(type)) return text;
  if (isDeeperThan(maxDepth, bytes)) throw failure(`returned JSON nested more than ${maxDepth} levels deep`);
  if (hasMoreValuesThan(maxValues, bytes)) throw failure(`returned JSON with more than ${maxValues} members and list items`);
  try {
    return JSON.parse(text);
  } catch {
    throw failure("returned a JSON content type, but its body is not JSON");
  }
}

function reason(error: unknown): string {
  const cause = innermost(error);
  if (!(cause instanceof Error)) return "the connection failed";
  const { code } = cause as { code?: unknown };
  return `${typeof code === "string" ? `${code}: ` : ""}${cause.message}`.slice(0, 300);
}

/** The bytes of a response; `null` if it is longer than `max` bytes. */
async function readBytes(response: Response, max: number): Promise<Uint8Array | null> {
  if (!response.body) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > max) {
      await reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks, size);
}
