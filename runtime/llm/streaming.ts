import { Failure } from "../platform/retry.ts";
import { answeringModel, maxReadCalls } from "./answer.ts";
import type { ChatAnswer, ToolCall } from "./chat-messages.ts";
import { type ReportedUsage, readUsage } from "./usage.ts";

/** An unchecked piece of an answer: proxies and models differ, so every member may be missing. */
interface Chunk {
  model?: unknown;
  choices?: {
    delta?: {
      content?: unknown;
      refusal?: unknown;
      tool_calls?: unknown;
    };
    finish_reason?: unknown;
  }[];
  usage?: ReportedUsage | null;
}

type WrittenCall = { index?: unknown; id?: unknown; function?: { name?: unknown; arguments?: unknown } } | null;

/** Assembles a streamed answer. Throws a `Failure` if the stream ends before the model has finished. */
export async function assembleAnswer(
  chunks: AsyncIterable<unknown>,
  requestedModel: string,
  onDelta: (text: string) => void,
): Promise<ChatAnswer> {
  let content = "";
  let model = requestedModel;
  let refusal = "";
  let finishReason: string | null = null;
  let usage: Chunk["usage"] = null;
  const calls: PartialCall[] = [];
  for await (const one of chunks) {
    const chunk = (one ?? {}) as Chunk;
    model = answeringModel(chunk.model, model);
    if (chunk.usage) usage = chunk.usage;
    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!choice) continue;
    if (typeof choice.finish_reason === "string" && choice.finish_reason) finishReason = choice.finish_reason;
    const { delta } = choice;
    if (typeof delta?.content === "string" && delta.content !== "") {
      content += delta.content;
      onDelta(delta.content);
    }
    refusal += textOf(delta?.refusal);
    for (const piece of piecesOf(delta?.tool_calls)) addTo(calls, piece);
  }
  if (finishReason === null) throw new Failure("The LLM's answer was cut off.", { retryable: true, unreadable: true });
  const toolCalls = calls
    .toSorted((a, b) => a.index - b.index)
    .map(({ index: _, id, ...rest }, n): ToolCall => ({ id: id || `call_${n}`, ...rest }));
  return {
    model,
    content,
    toolCalls,
    finishReason,
    refusal: refusal || null,
    ...readUsage(usage),
  };
}

interface PartialCall {
  readonly index: number;
  id: string;
  name: string;
  arguments: string;
}

/** The pieces of tool calls in a chunk. A call without an index has its place in the list. */
const piecesOf = (written: unknown): PartialCall[] =>
  (Array.isArray(written) ? (written as WrittenCall[]) : []).map((call, at) => ({
    index: typeof call?.index === "number" ? call.index : at,
    id: textOf(call?.id),
    name: textOf(call?.function?.name),
    arguments: textOf(call?.function?.arguments),
  }));

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/**
 * Adds a piece to the call with its index. Some proxies give all calls the index 0, so a piece with a name and another id begins
 * a new call.
 */
function addTo(calls: PartialCall[], piece: PartialCall): void {
  const known = calls.findLast(({ index }) => index === piece.index);
  const isNew = !known || (piece.name !== "" && piece.id !== "" && known.id !== "" && known.id !== piece.id);
  if (isNew) {
    // The rest of the stream is still read, because the usage is at its end.
    if (calls.length < maxReadCalls) calls.push({ ...piece });
    return;
  }
  known.id ||= piece.id;
  known.name += piece.name;
  known.arguments += piece.arguments;
}
