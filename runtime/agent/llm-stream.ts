import { Failure } from "./attempts.ts";
import type { ChatAnswer, ToolCall } from "./llm.ts";

/** A piece of an answer of which nothing is certain: proxies and models differ. */
interface Chunk {
  model?: unknown;
  choices?: {
    delta?: {
      content?: unknown;
      tool_calls?: { index?: unknown; id?: unknown; function?: { name?: unknown; arguments?: unknown } }[];
    };
    finish_reason?: unknown;
  }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown; cost?: unknown } | null;
}

/** Puts a streamed answer together. Throws a `Failure` where it ends before the model said that it is finished. */
export async function gather(
  chunks: AsyncIterable<unknown>,
  asked: string,
  onDelta: (text: string) => void,
): Promise<ChatAnswer> {
  let content = "";
  let model = asked;
  let finished = false;
  let usage: Chunk["usage"] = null;
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  for await (const one of chunks) {
    const chunk = (one ?? {}) as Chunk;
    if (typeof chunk.model === "string" && chunk.model) model = chunk.model;
    if (chunk.usage) usage = chunk.usage;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!choice) continue;
    if (choice.finish_reason) finished = true;
    const { delta } = choice;
    if (typeof delta?.content === "string" && delta.content !== "") {
      content += delta.content;
      onDelta(delta.content);
    }
    for (const [at, call] of (Array.isArray(delta?.tool_calls) ? delta.tool_calls : []).entries()) {
      const index = typeof call?.index === "number" ? call.index : at;
      const whole = calls.get(index) ?? { id: `call_${index}`, name: "", arguments: "" };
      calls.set(index, whole);
      if (typeof call?.id === "string" && call.id) whole.id = call.id;
      if (typeof call?.function?.name === "string") whole.name += call.function.name;
      if (typeof call?.function?.arguments === "string") whole.arguments += call.function.arguments;
    }
  }
  if (!finished) throw new Failure("The LLM's answer was cut off.", { retryable: true });
  const toolCalls: ToolCall[] = [...calls].sort(([a], [b]) => a - b).map(([, call]) => call);
  const count = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0);
  return {
    model,
    content,
    toolCalls,
    promptTokens: count(usage?.prompt_tokens),
    completionTokens: count(usage?.completion_tokens),
    costUsd: typeof usage?.cost === "number" ? usage.cost : null,
  };
}
