import type { ChatAnswer, ChatRequest } from "./chat-messages.ts";

/** The unchecked usage of an answer. Proxies and models differ, so every member may be missing. */
export interface ReportedUsage {
  prompt_tokens?: unknown;
  completion_tokens?: unknown;
  cost?: unknown;
}

/** More tokens than any request uses. A larger count is an error of the proxy. */
const maxTokens = 100_000_000;
const maxUsd = 1_000_000;
const charactersPerToken = 4;

const isWithin = (value: unknown, max: number): value is number => typeof value === "number" && value >= 0 && value <= max;
const count = (value: unknown): number => (isWithin(value, maxTokens) ? Math.round(value) : 0);

/** The counts and the cost that a proxy reports. Impossible values, such as a negative cost, count as not reported. */
export const readUsage = (
  usage: ReportedUsage | null | undefined,
): Pick<ChatAnswer, "promptTokens" | "completionTokens" | "costUsd"> => ({
  promptTokens: count(usage?.prompt_tokens),
  completionTokens: count(usage?.completion_tokens),
  costUsd: isWithin(usage?.cost, maxUsd) ? usage.cost : null,
});

/**
 * Estimates the counts that the proxy did not report, because otherwise no token budget would limit anything. A request without
 * tokens, or a text without tokens, was not counted.
 */
export function withEstimates(answer: ChatAnswer, { messages, tools }: ChatRequest): ChatAnswer {
  const { promptTokens, completionTokens } = answer;
  const calls = answer.toolCalls.map((call) => call.name + call.arguments).join("");
  return {
    ...answer,
    promptTokens: promptTokens || estimateTokens(JSON.stringify([messages, tools])),
    completionTokens: completionTokens || estimateTokens(answer.content + (answer.refusal ?? "") + calls),
  };
}

/** About how many tokens a text has. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / charactersPerToken);
