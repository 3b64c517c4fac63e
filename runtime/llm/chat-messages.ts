import { hasMoreValuesThan } from "../platform/json.ts";

/** A tool call that a model requests. */
export interface ToolCall {
  readonly id: string;
  /** The function name in the request: `alpha__add_comment`. */
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
}

/** Largest arguments of a call: characters, and members and list items. The outbox reads every text in them several times. */
export const maxArguments = { length: 1_048_576, values: 5_000 } as const;

/** Whether the arguments of a call are refused without being parsed, because parsing so many would hold up the event loop. */
export const hasTooManyArguments = ({ arguments: text }: Pick<ToolCall, "arguments">): boolean =>
  text.length > maxArguments.length || hasMoreValuesThan(maxArguments.values, Buffer.from(text));

/** A message of a chat with a model. */
export type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** One request to a model. */
export interface ChatRequest {
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  readonly tools: readonly { name: string; description: string; parameters: Record<string, unknown> }[];
}

/** The model's answer to one request. */
export interface ChatAnswer {
  readonly model: string;
  readonly content: string;
  /** At most `maxReadCalls` of `answer.ts`. */
  readonly toolCalls: readonly ToolCall[];
  /** Why the model stopped: `stop`, `tool_calls`, `length`, `content_filter`; `null` if the proxy does not report it. */
  readonly finishReason: string | null;
  /** The model's text if it refuses to answer. */
  readonly refusal: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Cost as reported by the proxy; null if it reported none. */
  readonly costUsd: number | null;
}
