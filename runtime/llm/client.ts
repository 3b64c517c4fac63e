import { isPlaceholder, retryAfterMs } from "@signalbox/sdk";
import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { deadlineOf } from "../platform/abortable.ts";
import { innermost } from "../platform/error-text.ts";
import { jsonOr, shortText } from "../platform/json.ts";
import { isBrokenOff } from "../platform/network/lean-fetch.ts";
import { ProxyError } from "../platform/network/proxy-agent.ts";
import { withoutUrlSecrets } from "../platform/network/url-secrets.ts";
import { headerOf } from "../platform/network/whole-response.ts";
import { Failure } from "../platform/retry.ts";
import { mask } from "../platform/settings.ts";
import { traceHeaders } from "../platform/telemetry/tracing.ts";
import { readAnswer } from "./answer.ts";
import { type ChatAnswer, type ChatRequest, hasTooManyArguments, type Message, type ToolCall } from "./chat-messages.ts";
import { maxFunctionName, withPermittedCharacters } from "./function-names.ts";
import { assembleAnswer } from "./streaming.ts";
import { withEstimates } from "./usage.ts";

export interface Llm {
  /** Timeout of one request. */
  readonly timeoutMs: number;
  /**
   * Sends one request. With `onDelta`, the answer's text is also passed on piece by piece while the model writes it. Throws a
   * `Failure` that says whether a retry may succeed; after the first piece, no retry is possible.
   */
  chat(request: ChatRequest, signal: AbortSignal, onDelta?: (text: string) => void): Promise<ChatAnswer>;
}

/** An OpenAI-compatible API. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}
interface LlmOptions extends Endpoint {
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number;
}

/** We retry ourselves, because retries must follow the rules of executions, not those of the package. */
export const openAiClient = ({ baseUrl, apiKey, fetch }: Endpoint, timeout?: number) =>
  new OpenAI({ baseURL: baseUrl, apiKey: apiKey ?? "none", maxRetries: 0, fetch, ...(timeout !== undefined && { timeout }) });

/** An LLM behind an OpenAI-compatible API. */
export function createLlm(options: LlmOptions): Llm {
  const client = openAiClient(options, options.timeoutMs);
  const post = createPost(client, options);
  return {
    timeoutMs: options.timeoutMs,
    chat: async (request, signal, onDelta) => {
      if (onDelta) return streamAnswer(client, request, signal, options, onDelta);
      try {
        const answer = await post(textOf(request), signal);
        return withEstimates(
          readAnswer(answer, request.model, (text) => without(text, options)),
          request,
        );
      } catch (error) {
        throw classify(error, options);
      }
    },
  };
}

/**
 * Sends requests without streaming: JSON, to the value of the response, or its text if it is not JSON. Throws errors of the package. The
 * package creates their URL and headers only once, because its processing of each request would cost more than the rest of the step.
 */
function createPost(client: OpenAI, { fetch, timeoutMs }: LlmOptions) {
  const makeHead = async () => {
    const { url, req } = await client.buildRequest({ method: "post", path: "/chat/completions", body: {}, timeout: timeoutMs });
    return { url, headers: Object.fromEntries(req.headers) };
  };
  let head: ReturnType<typeof makeHead> | undefined;
  return async (body: string, signal: AbortSignal): Promise<unknown> => {
    head ??= makeHead();
    const { url, headers } = await head;
    const deadline = deadlineOf(signal, timeoutMs);
    const inTime = <T>(step: Promise<T>): Promise<T> =>
      step.catch((error) => {
        if (signal.aborted) throw new APIUserAbortError();
        throw deadline.signal.aborted ? new APIConnectionTimeoutError() : error;
      });
    try {
      const sent = { method: "POST", headers: { ...headers, ...traceHeaders() }, body, signal: deadline.signal };
      const response = await inTime(fetch(url, sent).catch(throwUnreached));
      const text = await inTime(response.text());
      if (!response.ok)
        // A text that is not JSON becomes the message.
        throw APIError.generate(response.status, jsonOr(text, undefined) as object, text, response.headers as Headers);
      const type = headerOf(response, "content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
      return type.includes("application/json") || type.endsWith("+json") ? JSON.parse(text) : text;
    } finally {
      deadline.unlink();
    }
  };
}

/** Throws an error for a request that got no response. The operating system's own timeout counts as a timeout, too. */
function throwUnreached(error: Error): never {
  if (isBrokenOff(error)) throw error;
  const isTimeout = /timed? ?out/i.test(`${error} ${error.cause ?? ""}`);
  throw isTimeout
    ? Object.assign(new APIConnectionTimeoutError(), { cause: error })
    : new APIConnectionError({ message: error.message, cause: error });
}

/**
 * The same request, with a streamed answer. After `onDelta` got a piece, no retry is possible, because it would repeat the piece.
 */
async function streamAnswer(
  client: OpenAI,
  request: ChatRequest,
  signal: AbortSignal,
  endpoint: LlmOptions,
  onDelta: (text: string) => void,
): Promise<ChatAnswer> {
  let hasDelta = false;
  // The timeout of the client package covers only the headers.
  const late = AbortSignal.timeout(endpoint.timeoutMs);
  try {
    const chunks = await client.chat.completions.create(
      { ...body(request), stream: true, stream_options: { include_usage: true } },
      { signal: AbortSignal.any([signal, late]), headers: traceHeaders() },
    );
    const answer = await assembleAnswer(chunks as AsyncIterable<unknown>, request.model, (text) => {
      hasDelta = true;
      onDelta(text);
    });
    return withEstimates(answer, request);
  } catch (error) {
    signal.throwIfAborted();
    const fault = classify(late.aborted ? new APIConnectionTimeoutError() : error, endpoint);
    if (!hasDelta || !(fault instanceof Failure)) throw fault;
    throw new Failure(fault.message, { retryable: false, retryAfterMs: fault.retryAfterMs, cause: fault });
  }
}

const body = (request: ChatRequest): OpenAI.Chat.ChatCompletionCreateParams => ({
  ...withoutTools(request),
  ...(request.tools.length > 0 && { tools: request.tools.map(toolToWire) }),
});

const withoutTools = ({ model, temperature, messages }: ChatRequest) => ({
  model,
  ...(temperature !== null && { temperature }),
  messages: messages.map(toWire),
});

const toolToWire = (tool: ChatRequest["tools"][number]) => ({ type: "function" as const, function: tool });

/** The JSON of each tool: most of a request, and the same in all requests. */
const toolTexts = new WeakMap<ChatRequest["tools"][number], string>();

/** The body of a request without streaming, as JSON. */
function textOf(request: ChatRequest): string {
  const text = JSON.stringify({ ...withoutTools(request), stream: false });
  if (request.tools.length === 0) return text;
  const tools = request.tools.map((tool) => {
    const toolText = toolTexts.get(tool) ?? JSON.stringify(toolToWire(tool));
    toolTexts.set(tool, toolText);
    return toolText;
  });
  return `${text.slice(0, -1)},"tools":[${tools.join(",")}]}`;
}

function toWire(message: Message): OpenAI.Chat.ChatCompletionMessageParam {
  if (message.role !== "assistant" || !message.tool_calls) return message as OpenAI.Chat.ChatCompletionMessageParam;
  const tool_calls = message.tool_calls.map((call) => ({
    id: call.id,
    type: "function" as const,
    function: { name: acceptedName(call.name), arguments: acceptedArguments(call) },
  }));
  return { role: "assistant", content: message.content, tool_calls };
}

/** A model may call a function with a name that its own API refuses in the next request. */
const acceptedName = (name: string): string => withPermittedCharacters(name).slice(0, maxFunctionName) || "_";

/** The arguments of calls, which each further request of a conversation repeats: they can be long. */
const argumentTexts = new WeakMap<ToolCall, string>();

/**
 * The arguments as a JSON object. Some APIs refuse a request that repeats other text, even if their own model wrote it. Of arguments
 * that are refused because there are too many, the beginning is repeated.
 */
function acceptedArguments(call: ToolCall): string {
  const known = argumentTexts.get(call);
  if (known !== undefined) return known;
  const text = hasTooManyArguments(call) ? invalidArguments(shortText(call.arguments)) : objectText(call.arguments);
  argumentTexts.set(call, text);
  return text;
}

function objectText(text: string): string {
  if (text.trim() === "") return "{}";
  const value = jsonOr(text, null);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? text : invalidArguments(text);
}

const invalidArguments = (text: string): string => JSON.stringify({ invalid_arguments: text });

/**
 * Masks what some proxies repeat in their error messages: the API key, and keys in the address. Local model servers take any key, so
 * it may be a placeholder such as `ollama`, which stays.
 */
const without = (text: string, { apiKey, baseUrl }: Endpoint) =>
  withoutUrlSecrets(apiKey && !isPlaceholder(apiKey) ? text.replaceAll(apiKey, mask) : text, baseUrl);

/** The error of a request as a `Failure` that says whether a retry may succeed, without the keys of the endpoint in its text. */
export function classify(error: unknown, endpoint: Endpoint): unknown {
  if (error instanceof Failure || error instanceof APIUserAbortError) return error;
  if (error instanceof APIConnectionTimeoutError)
    return new Failure("The LLM did not answer in time.", { retryable: true, unavailable: true, timedOut: true, cause: error });
  if (error instanceof APIConnectionError)
    return new Failure(`The LLM could not be reached${codeIn(error)}.`, { retryable: true, unavailable: true, cause: error });
  if (error instanceof APIError) {
    const status = error.status ?? 0;
    const retryable = status === 408 || status === 409 || status === 429 || status >= 500;
    const message = without(error.message, endpoint).replace(`${status} `, "").slice(0, 300);
    const waitMs = error.headers ? retryAfterMs(error.headers) : null;
    // An error in the middle of a stream has no status.
    return new Failure(`The LLM answered ${status === 0 ? "with an error" : status}: ${message}`, {
      retryable,
      status,
      retryAfterMs: waitMs ?? undefined,
      unavailable: retryable && status !== 409,
    });
  }
  // Not JSON, or cut off in the middle.
  if (error instanceof SyntaxError || error instanceof TypeError)
    return new Failure(`The LLM's answer could not be read: ${error.message}`, {
      retryable: true,
      unreadable: isBrokenOff(error) || error instanceof SyntaxError,
      cause: error,
    });
  return error;
}

/** Why a connection failed, for example ECONNREFUSED. */
function codeIn(error: Error): string {
  const cause = innermost(error) as { code?: unknown };
  if (cause instanceof ProxyError) return `: ${cause.message}`;
  const { code } = cause;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : "";
}
