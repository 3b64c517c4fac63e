import { yieldIfLong } from "../platform/next-turn.ts";
import type { Conversation, ConversationDeps } from "./conversation.ts";
import { isCut, joinAnswer, requireAnswer } from "./final-answer.ts";
import { askModel, beginStep, modelSteps, toolStepsAfter } from "./model-step.ts";
import type { ModelOutput } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";
import { callTool } from "./tools-step.ts";

/**
 * Alternates between the model and its tools until an answer without tool calls, or the last round. Resumes after the last step
 * of the log.
 */
export async function converse(conversation: Conversation, deps: ConversationDeps): Promise<string> {
  const tools = conversation.plan.tools.map((name) => deps.tools.get(name)).filter((tool) => tool !== undefined);
  for (let round = 0; ; round++) {
    const done = modelSteps(conversation.log)[round];
    const limit = done ? null : (conversation.execution?.budget.exhaustedLimit(conversation.log) ?? null);
    const withTools = round < deps.maxToolRounds && limit === null;
    const answer = done ?? (await askModel(conversation, withTools ? tools : [], limit, deps));
    const { tool_calls } = answer.output as ModelOutput;
    if (!withTools || tool_calls.length === 0) return finish(conversation, answer, round, deps);
    for (const [i, call] of tool_calls.entries()) {
      const begun = toolStepsAfter(conversation.log, answer)[i];
      if (begun && begun.state !== "started") continue;
      const step = await callTool(conversation, call, begun, {
        ...deps,
        addNextStep: () => beginStep(conversation, tool_calls[i + 1]),
      });
      conversation.onToolCall?.(step);
    }
  }
}

/** The text of the last answer. If it was cut off, it is requested once more. */
async function finish(conversation: Conversation, answer: StepRow, round: number, deps: ConversationDeps): Promise<string> {
  const { log, execution } = conversation;
  const firstOutput = answer.output as ModelOutput;
  if (!isCut(firstOutput)) {
    if (execution) requireAnswer(await yieldIfLong(firstOutput.content), answer, log);
    return firstOutput.content;
  }
  const known = modelSteps(log)[round + 1];
  if (!known) {
    beginStep(conversation);
    await log.flush({ agent_id: conversation.plan.agent_id });
  }
  const second = known ?? (await askModel(conversation, [], null, deps));
  const text = joinAnswer([firstOutput, second.output as ModelOutput]);
  if (execution) requireAnswer(await yieldIfLong(text), second, log);
  return text;
}
