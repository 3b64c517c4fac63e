import { Failure } from "../platform/retry.ts";
import type { ChatAnswer } from "./chat-messages.ts";
import { type ReportedUsage, readUsage } from "./usage.ts";

/** An unchecked answer. Proxies and models differ, so every member may be missing. */
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
  usage?: ReportedUsage;
}

/** Most tool calls in one answer: each is carried out and stored. An answer with more is paid for, but none of them is carried out. */
export const maxCalls = 100;

/** Calls that are read: one more than the most, so that it is known that there are too many. */
export const maxReadCalls = maxCalls + 1;

/** Reads the answer to a request to this model. Throws a `Failure` if it contains no message. */
export function readAnswer(answer: unknown, model: string): ChatAnswer {
  const loose = (answer ?? {}) as Loose;
  const choice = loose.choices?.[0];
  const message = choice?.message;
  if (!message) throw new Failure("The LLM's answer has no message in its choices.", { retryable: true });
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.slice(0, maxReadCalls) : [];
  return {
    model: typeof loose.model === "string" ? loose.model : model,
    content: text(message.content),
    finishReason: typeof choice?.finish_reason === "string" ? choice.finish_reason : null,
    refusal: text(message.refusal) || null,
    toolCalls: calls.map((call, i) => ({
      id: typeof call?.id === "string" && call.id ? call.id : `call_${i}`,
      name: String(call?.function?.name ?? ""),
      arguments:
        typeof call?.function?.arguments === "string" ? call.function.arguments : JSON.stringify(call?.function?.arguments ?? {}),
    })),
    ...readUsage(loose.usage),
  };
}

/** Some models return an array of parts. */
const text = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("")
      : "";
