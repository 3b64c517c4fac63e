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
  /** Some proxies report an error with the status 200. */
  error?: unknown;
}

/** Most tool calls in one answer: each is carried out and stored. An answer with more is paid for, but none of them is carried out. */
export const maxCalls = 100;

/** Calls that are read: one more than the most, so that it is known that there are too many. */
export const maxReadCalls = maxCalls + 1;

/**
 * Reads the answer to a request to this model. Throws a `Failure` if it contains no message. `mask` removes keys from the text of
 * the failure.
 */
export function readAnswer(answer: unknown, model: string, mask: (text: string) => string): ChatAnswer {
  const loose = (answer ?? {}) as Loose;
  const choice = loose.choices?.[0];
  const message = choice?.message;
  if (!message) throw new Failure(whyNoMessage(answer, mask), { retryable: true });
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.slice(0, maxReadCalls) : [];
  return {
    model: answeringModel(loose.model, model),
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

/** Maximum length of the name of a model, as in the settings of an agent. Lists show it, and usage is grouped by it. */
const maxModelLength = 200;

/** The model that an answer names, which can differ from the requested one. */
export const answeringModel = (named: unknown, requested: string): string =>
  typeof named === "string" && named.trim() !== "" ? named.slice(0, maxModelLength).toWellFormed() : requested;

const maxShown = 200;
/** A page may be large, and only its beginning is shown. It is longer than what is shown because of spaces. */
const maxRead = 10_000;

/** The beginning of a text in one line, without keys. */
function beginningOf(text: string, mask: (text: string) => string): string {
  const line = mask(text.slice(0, maxRead)).replaceAll(/\s+/g, " ").trim();
  // Of many spaces, little is left, and the last word may be a part of a key.
  const isShort = text.length > maxRead && line.length < maxRead / 2;
  return (isShort ? line.replace(/ ?\S*$/, "") : line).slice(0, maxShown);
}

/** Names the error of the proxy, or shows the beginning of a page that a wrong `LLM_BASE_URL` returns. */
function whyNoMessage(answer: unknown, mask: (text: string) => string): string {
  if (typeof answer === "string" && answer.trim() !== "")
    return `The LLM answered with text instead of JSON; check LLM_BASE_URL: ${beginningOf(answer, mask)}`;
  const error = (answer as Loose | null)?.error;
  const message = typeof error === "string" ? error : (error as { message?: unknown } | null | undefined)?.message;
  if (typeof message === "string" && message !== "") return `The LLM answered with an error: ${beginningOf(message, mask)}`;
  return "The LLM's answer has no message in its choices.";
}

/** Some models return an array of parts. */
const text = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("")
      : "";
