/*
 * Names of the OpenTelemetry semantic conventions for generative AI (version 1.37), in one place because they still change.
 */
export const genAi = {
  operation: "gen_ai.operation.name",
  model: "gen_ai.request.model",
  answeredBy: "gen_ai.response.model",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  agent: "gen_ai.agent.id",
  tool: "gen_ai.tool.name",
  callId: "gen_ai.tool.call.id",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
} as const;

/** Our own attributes: the same names as in the log. */
export const ownAttributes = {
  event: "signalbox.event_id",
  execution: "signalbox.execution_id",
  task: "signalbox.task_id",
  source: "signalbox.source",
  eventName: "signalbox.event_name",
  state: "signalbox.state",
  attempt: "signalbox.attempt",
  lost: "signalbox.lost",
} as const;
