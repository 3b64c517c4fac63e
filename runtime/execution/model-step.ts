import { modelTarget } from "../breakers/breakers.ts";
import { maxCalls } from "../llm/answer.ts";
import type { ChatAnswer, ChatRequest, Message, ToolCall } from "../llm/chat-messages.ts";
import type { Llm } from "../llm/client.ts";
import { measureChat } from "../llm/measure-chat.ts";
import { linkSignals } from "../platform/abortable.ts";
import { databaseInstant } from "../platform/clock.ts";
import { Failure, maxRetryMs, retry } from "../platform/retry.ts";
import { toFunction } from "../tools/eligible.ts";
import type { RegisteredTool } from "../tools/registered-tool.ts";
import { lastRequest, withLimitNotice } from "./budget.ts";
import type { Conversation, ConversationDeps } from "./conversation.ts";
import { continueRequest, isCut } from "./final-answer.ts";
import type { ModelOutput, StepLog } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";
import { toolResults } from "./tool-results.ts";
import { beginCall } from "./tools-step.ts";

/** The model's answers, without failed ones. */
export const modelSteps = (log: StepLog): StepRow[] =>
  log.steps.filter((step) => step.kind === "model" && step.state !== "failed" && step.state !== "started");

/**
 * Adds the next step as started: a call of a tool, or else a request to the model. It is stored together with the previous step,
 * before its own request is sent, except for the first request of an attempt: see `sendWhileStoring`.
 */
export function beginStep(conversation: Conversation, call?: ToolCall): StepRow {
  const { plan, log } = conversation;
  if (call) return beginCall(conversation, call);
  return log.add({ kind: "model", state: "started", name: plan.model, agent_id: plan.agent_id });
}

/** Whether the step is a model request of an earlier attempt that got no answer. It is sent again. */
const isUnanswered = ({ kind, state, output, prompt_tokens }: StepRow): boolean =>
  kind === "model" && (state === "started" || (state === "failed" && output === null && prompt_tokens === 0));

/** The step of the next request to the model. `isStored`: it is already stored as started. */
function beginRequest(conversation: Conversation): { readonly step: StepRow; readonly isStored: boolean } {
  const { plan, log } = conversation;
  const last = log.steps.at(-1);
  const unanswered = last && isUnanswered(last) ? last : null;
  if (unanswered && log.isOfThisAttempt(unanswered)) return { step: unanswered, isStored: true };
  const step = unanswered ?? beginStep(conversation);
  if (unanswered) log.complete(unanswered, { state: "started", error: null, name: plan.model, started_at: databaseInstant() });
  return { step, isStored: false };
}

/** First requests of attempts that are sent within this time are stored together, in milliseconds. */
const firstRequestsMs = 20;
let firstRequests: Promise<"late"> | null = null;
/** Resolves when the first requests that were sent since the previous time are to be stored. */
function timeToStore(): Promise<"late"> {
  firstRequests ??= new Promise((done) =>
    setTimeout(() => {
      firstRequests = null;
      done("late");
    }, firstRequestsMs),
  );
  return firstRequests;
}

/**
 * Sends the first request of an attempt, and stores its step and the plan meanwhile. If the answer arrives first, all three are
 * stored together. After a crash before that, the next attempt plans and asks again. If storing fails, for example because the
 * lease is lost, the request is aborted. Outside of executions nothing can resume a request, so it is stored only when it has ended.
 */
async function sendWhileStoring(
  conversation: Conversation,
  isStored: boolean,
  request: ChatRequest,
  llm: Llm,
): Promise<ChatAnswer> {
  const { plan, log, execution } = conversation;
  if (isStored || !execution) return send(conversation, request, llm);
  const { limits } = execution;
  limits.lease.check();
  const failed = new AbortController();
  const { signal, unlink } = linkSignals([conversation.signal, failed.signal]);
  try {
    const sending = send({ ...conversation, signal }, request, llm);
    if ((await Promise.race([sending, timeToStore()])) !== "late") return await sending;
    // The write shortens the deadline for progress to its own, so the request gets its full time again.
    const storing = log.flush({ agent_id: plan.agent_id }).then(() => limits.lease.progress(maxRetryMs(llm.timeoutMs)));
    storing.catch((error) => failed.abort(error));
    const [stored, answer] = await Promise.allSettled([storing, sending]);
    if (stored.status === "rejected") throw stored.reason;
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  } finally {
    unlink();
  }
}

/** The tool steps that belong to one model answer, in the order of its calls. */
export function toolStepsAfter(log: StepLog, answer: StepRow): StepRow[] {
  const rest = log.steps.slice(answer.seq + 1);
  const end = rest.findIndex((step) => step.kind !== "tool");
  return end === -1 ? rest : rest.slice(0, end);
}

/**
 * Sends the rounds so far to the model as one step. `limit`: the limit that the run has reached, if this is its last request.
 * Throws a `Failure` for an answer with too many tool calls.
 */
export async function askModel(
  conversation: Conversation,
  tools: readonly RegisteredTool[],
  limit: string | null,
  deps: ConversationDeps,
): Promise<StepRow> {
  const { plan, log } = conversation;
  const { llm } = deps;
  if (!llm)
    throw new Failure("No LLM is configured. Set LLM_BASE_URL, restart the service, and then restart the execution.", {
      retryable: false,
    });
  const request: ChatRequest = {
    model: plan.model,
    temperature: plan.temperature,
    messages: [
      ...plan.messages,
      ...dialogue(conversation, deps.tools),
      ...(limit === null ? [] : [{ role: "user" as const, content: lastRequest(limit) }]),
    ],
    tools: tools.map(toFunction),
  };
  const { step, isStored } = beginRequest(conversation);
  const began = performance.now();
  const answer = await sendWhileStoring(conversation, isStored, request, llm);
  const cost = answer.costUsd ?? deps.prices.of(answer.model, answer.promptTokens, answer.completionTokens);
  if (cost === null) conversation.execution?.budget.reportUnpriced(answer.model);
  const output = limit === null ? outputOf(answer) : lastOutput(answer, limit);
  const tooMany = output.tool_calls.length > maxCalls ? `The LLM's answer has more than ${maxCalls} tool calls.` : null;
  log.complete(step, {
    state: tooMany === null ? "succeeded" : "failed",
    error: tooMany,
    is_answered: true,
    name: answer.model,
    output,
    prompt_tokens: answer.promptTokens,
    completion_tokens: answer.completionTokens,
    cost_usd: cost,
    duration_ms: Math.round(performance.now() - began),
  });
  // Its step is stored with the failure, so its usage is counted.
  if (tooMany !== null) throw new Failure(tooMany, { retryable: false });
  // The last answer is stored together with the post that follows. An answer with tool calls is stored before they run.
  if (output.tool_calls.length > 0 && tools.length > 0) beginStep(conversation, output.tool_calls[0]);
  if (output.tool_calls.length > 0) await log.flush({ agent_id: plan.agent_id });
  return step;
}

const outputOf = ({ content, toolCalls, finishReason, refusal }: ChatAnswer): ModelOutput => ({
  content,
  tool_calls: toolCalls,
  ...(finishReason !== null && /^(?:length|content_filter)$/.test(finishReason) && { finish_reason: finishReason }),
  ...(refusal !== null && { refusal }),
});

/**
 * The output of the last request of a run that is cut short. It is not continued. Without text of its own, for example because the
 * model still calls tools, it consists of the notice.
 */
function lastOutput(answer: ChatAnswer, limit: string): ModelOutput {
  const { finish_reason, ...output } = outputOf(answer);
  return {
    ...output,
    content: withLimitNotice(output.content, limit),
    tool_calls: [],
    ...(finish_reason === "content_filter" && { finish_reason }),
  };
}

/**
 * Sends a request within the budget. A failed request frees its reservation; an interrupted one keeps it, because it may have
 * cost that much.
 */
async function send(
  { execution, signal, maxRetryWaitMs: maxWaitMs, onDelta }: Conversation,
  request: ChatRequest,
  llm: Llm,
): Promise<ChatAnswer> {
  await execution?.budget.reserve(request, signal);
  execution?.limits.lease.progress(maxRetryMs(llm.timeoutMs));
  try {
    const call = () => retry(() => measureChat(llm, request, signal, onDelta), signal, { maxWaitMs });
    return await (execution ? execution.guard(modelTarget(execution.isDefaultModel), call) : call());
  } catch (error) {
    if (!signal.aborted) await execution?.budget.release();
    throw error;
  }
}

/** The rounds so far, as messages to the model. */
function dialogue({ log, execution }: Conversation, tools: ConversationDeps["tools"]): Message[] {
  const rounds = modelSteps(log).map((step) => {
    const output = step.output as ModelOutput;
    const toolSteps = output.tool_calls.length === 0 ? [] : toolStepsAfter(log, step);
    return { output, steps: output.tool_calls.map((_, i) => toolSteps[i]) };
  });
  const results = toolResults(
    rounds.flatMap(({ steps }) => steps),
    execution?.eventTime ?? null,
    (name) => tools.get(name),
  );
  return rounds.flatMap(({ output }): Message[] => {
    const { content, tool_calls } = output;
    if (tool_calls.length === 0) {
      const partialAnswer: Message[] = content === "" ? [] : [{ role: "assistant", content }];
      return isCut(output) ? [...partialAnswer, { role: "user", content: continueRequest }] : partialAnswer;
    }
    const answers = tool_calls.map(
      (call): Message => ({ role: "tool", tool_call_id: call.id, content: results.shift() as string }),
    );
    return [{ role: "assistant", content, tool_calls }, ...answers];
  });
}
