import { Failure } from "../platform/retry.ts";
import { labelValue, modelSeconds, modelTokens } from "../platform/telemetry/metrics.ts";
import { genAi } from "../platform/telemetry/names.ts";
import { inSpan, recordsContent } from "../platform/telemetry/tracing.ts";
import type { ChatAnswer, ChatRequest } from "./chat-messages.ts";
import type { Llm } from "./client.ts";

/** One request to the model, as a span and in the metrics. */
export function measureChat(
  llm: Llm,
  request: ChatRequest,
  signal: AbortSignal,
  onDelta?: (text: string) => void,
): Promise<ChatAnswer> {
  const model = labelValue("model", request.model);
  const began = performance.now();
  const observe = (error_type: string) => {
    const labels = { gen_ai_operation_name: "chat", gen_ai_request_model: model, error_type };
    modelSeconds.observe(labels, (performance.now() - began) / 1000);
  };
  const attributes = { [genAi.operation]: "chat", [genAi.model]: request.model };
  return inSpan(`chat ${request.model}`, attributes, async (span) => {
    if (recordsContent()) span?.setAttribute(genAi.inputMessages, JSON.stringify(request.messages));
    try {
      const answer = await llm.chat(request, signal, onDelta);
      observe("");
      modelTokens.inc({ gen_ai_request_model: model, gen_ai_token_type: "input" }, answer.promptTokens);
      modelTokens.inc({ gen_ai_request_model: model, gen_ai_token_type: "output" }, answer.completionTokens);
      span?.setAttributes({
        [genAi.answeredBy]: answer.model,
        [genAi.inputTokens]: answer.promptTokens,
        [genAi.outputTokens]: answer.completionTokens,
        ...(recordsContent() && { [genAi.outputMessages]: answer.content }),
      });
      return answer;
    } catch (error) {
      observe(error instanceof Failure ? String(error.status ?? "unavailable") : "error");
      throw error;
    }
  });
}
