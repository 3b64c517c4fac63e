import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { Failure } from "../platform/retry.ts";
import { traceHeaders } from "../platform/telemetry/tracing.ts";
import { createPost } from "./post.ts";
import { gather } from "./streaming.ts";

export interface ToolCall {
  readonly id: string;
  /** Function name as it was offered: `alpha__add_comment`. */
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
}
export type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export interface ChatRequest {
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  readonly tools: readonly { name: string; description: string; parameters: Record<string, unknown> }[];
}
export interface ChatAnswer {
  readonly model: string;
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
  /** Why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`; `null` where the proxy does not say. */
  readonly finishReason: string | null;
  /** What the model says in place of an answer that it refuses. */
  readonly refusal: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** As the proxy reported it; null where it did not. */
  readonly costUsd: number | null;
}

export interface Llm {
  /** Timeout of one request. */
  readonly timeoutMs: number;
  /**
   * One request. With `onDelta` the answer's text is also handed over piece by piece while it is written. Throws a
   * `Failure` that says whether another try may work; none may once a piece was handed over.
   */
  chat(request: ChatRequest, signal: AbortSignal, onDelta?: (text: string) => void): Promise<ChatAnswer>;
}

/** An OpenAI-compatible API. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/** Retries are ours: they belong to the execution's rules, not to the client's. */
export const openAiClient = ({ baseUrl, apiKey, fetch }: Endpoint, timeout?: number) =>
  new OpenAI({ baseURL: baseUrl, apiKey: apiKey ?? "none", maxRetries: 0, fetch, ...(timeout !== undefined && { timeout }) });

/** An LLM behind an OpenAI-compatible API. */
export function createLlm(options: Endpoint & { timeoutMs: number }): Llm {
  const client = openAiClient(options, options.timeoutMs);
  const post = createPost({ client, path: "/chat/completions", ...options });
  return {
    timeoutMs: options.timeoutMs,
    chat: async (request, signal, onDelta) => {
      if (onDelta) return streamed(client, request, signal, options, onDelta);
      try {
        return read((await post({ ...body(request), stream: false }, signal, traceHeaders())) as Loose, request.model);
      } catch (error) {
        throw classify(error, options.apiKey);
      }
    },
  };
}

/** The same answer, heard while it is written. Once a piece of it was handed over, another try would tell it twice. */
async function streamed(
  client: OpenAI,
  request: ChatRequest,
  signal: AbortSignal,
  { apiKey, timeoutMs }: Endpoint & { timeoutMs: number },
  onDelta: (text: string) => void,
): Promise<ChatAnswer> {
  let told = false;
  // The client's own time limit ends with the headers.
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const chunks = await client.chat.completions.create(
      { ...body(request), stream: true, stream_options: { include_usage: true } },
      { signal: AbortSignal.any([signal, late]), headers: traceHeaders() },
    );
    return await gather(chunks as AsyncIterable<unknown>, request.model, (text) => {
      told = true;
      onDelta(text);
    });
  } catch (error) {
    signal.throwIfAborted();
    const fault = classify(late.aborted ? new APIConnectionTimeoutError() : error, apiKey);
    if (!told || !(fault instanceof Failure)) throw fault;
    throw new Failure(fault.message, { retryable: false, retryAfterMs: fault.retryAfterMs, cause: fault });
  }
}

function body(request: ChatRequest): OpenAI.Chat.ChatCompletionCreateParams {
  return {
    model: request.model,
    ...(request.temperature !== null && { temperature: request.temperature }),
    messages: request.messages.map(toWire),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ type: "function" as const, function: tool })) }),
  };
}

function toWire(message: Message): OpenAI.Chat.ChatCompletionMessageParam {
  if (message.role !== "assistant" || !message.tool_calls) return message as OpenAI.Chat.ChatCompletionMessageParam;
  const tool_calls = message.tool_calls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: args },
  }));
  return { role: "assistant", content: message.content, tool_calls };
}

/** An answer of which nothing is certain: proxies and models differ. */
interface Loose {
  model?: unknown;
  choices?: {
    finish_reason?: unknown;
    message?: {
      refusal?: unknown;
      content?: unknown;
      tool_calls?: { id?: unknown; function?: { name?: unknown; arguments?: unknown } }[];
    };
  }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown; cost?: unknown };
}

function read(answer: Loose, model: string): ChatAnswer {
  const choice = answer?.choices?.[0];
  const message = choice?.message;
  if (!message) throw new Failure("The LLM's answer has no message in its choices.", { retryable: true });
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0);
  return {
    model: typeof answer.model === "string" ? answer.model : model,
    content: text(message.content),
    finishReason: typeof choice?.finish_reason === "string" ? choice.finish_reason : null,
    refusal: text(message.refusal) || null,
    toolCalls: calls.map((call, i) => ({
      id: typeof call?.id === "string" && call.id ? call.id : `call_${i}`,
      name: String(call?.function?.name ?? ""),
      arguments:
        typeof call?.function?.arguments === "string" ? call.function.arguments : JSON.stringify(call?.function?.arguments ?? {}),
    })),
    promptTokens: count(answer.usage?.prompt_tokens),
    completionTokens: count(answer.usage?.completion_tokens),
    costUsd: typeof answer.usage?.cost === "number" ? answer.usage.cost : null,
  };
}

/** Some models answer with an array of parts. */
const text = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("")
      : "";

/** Some proxies repeat in their refusal the key that they were sent. */
const without = (text: string, apiKey: string | undefined) => (apiKey ? text.replaceAll(apiKey, "********") : text);

/** The error of a request as a `Failure` that says whether another try may work; `apiKey` is masked in its text. */
export function classify(error: unknown, apiKey: string | undefined): unknown {
  if (error instanceof Failure || error instanceof APIUserAbortError) return error;
  if (error instanceof APIConnectionTimeoutError)
    return new Failure("The LLM did not answer in time.", { retryable: true, unavailable: true, timedOut: true, cause: error });
  if (error instanceof APIConnectionError)
    return new Failure(`The LLM could not be reached${causeOf(error)}.`, { retryable: true, unavailable: true, cause: error });
  if (error instanceof APIError) {
    const status = error.status ?? 0;
    const retryable = status === 408 || status === 409 || status === 429 || status >= 500;
    const said = without(error.message, apiKey).replace(`${status} `, "").slice(0, 300);
    const retryAfterMs = retryAfter(error.headers?.get("retry-after"));
    return new Failure(`The LLM answered ${status}: ${said}`, {
      ...{ retryable, status, retryAfterMs },
      unavailable: retryable && status !== 409,
    });
  }
  // Not JSON, or cut off in the middle.
  if (error instanceof SyntaxError || error instanceof TypeError)
    return new Failure(`The LLM's answer could not be read: ${error.message}`, { retryable: true, cause: error });
  return error;
}

/** Why a connection failed: the code of the innermost error, for example ECONNREFUSED. */
function causeOf(error: Error): string {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code } = one as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return ` (${code})`;
  }
  return "";
}

/** `Retry-After` in milliseconds: seconds or an HTTP date. */
function retryAfter(header: string | null | undefined): number | undefined {
  if (!header) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
