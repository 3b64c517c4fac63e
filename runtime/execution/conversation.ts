import type { SubjectDetails } from "@signalbox/sdk";
import { modelTarget, type Target } from "../breakers/breakers.ts";
import type { Prices } from "../budgets/prices.ts";
import type { ChatAnswer, ChatRequest, Llm, Message, ToolCall } from "../llm/client.ts";
import { measuredChat } from "../llm/measured.ts";
import { Failure, longestRetryMs, retry } from "../platform/retry.ts";
import type { Connection } from "../plugins/connections.ts";
import { toFunction } from "../tools/eligible.ts";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Approval } from "./approval.ts";
import { cutShort, lastRequest, type RunBudget } from "./budget.ts";
import { goOn, isCut, joinAnswer, requireAnswer } from "./final-answer.ts";
import type { Patch, StepRow } from "./steps/queries.ts";
import { toolResults } from "./tool-results.ts";
import { callTool, eligibleName } from "./tools-step.ts";
import type { AttemptLimits } from "./write-step.ts";

/** Decisions made before the first request. They are stored in the transcript, so that a resumed run follows the same plan. */
export interface Plan {
  readonly agent_id: string | null;
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  /** Qualified names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** What was looked up about the issue of the event. */
  readonly about?: SubjectDetails;
}

export type NewStep = Partial<StepRow> & Pick<StepRow, "kind" | "state">;

/** Stores the steps of a conversation: the transcript of an execution, or the record of a chat. */
export interface StepLog {
  /** By `seq`: the step with the number n is at index n. */
  readonly steps: readonly StepRow[];
  add(step: NewStep): StepRow;
  complete(step: StepRow, change: Partial<StepRow>): void;
  flush(patch?: Patch): Promise<void>;
  /** Whether the step was added since the log was opened, and not by an earlier attempt. */
  isOfThisAttempt(step: StepRow): boolean;
}

/** A model that works with tools, by a plan. */
export interface Conversation {
  /** Prefix of the keys of its writes. */
  readonly id: string;
  readonly plan: Plan;
  readonly log: StepLog;
  readonly signal: AbortSignal;
  /** Bounds of the attempt; absent outside of executions, where no other worker can resume it. */
  readonly limits?: AttemptLimits;
  /** What the run may use; absent outside of executions. */
  readonly budget?: RunBudget;
  /** The `project` of a tool call where the tool takes one and the model names none. */
  readonly project: string | null;
  /** Subject of the event, `<source>:<project>#<issue>`. */
  readonly subject?: string | null;
  /** It is about something that is not visible to everyone in the project. */
  readonly private?: boolean;
  /** When the event that started it happened, milliseconds: results of tools say what was written later. */
  readonly since?: number | null;
  readonly connectionFor: (source: string) => Promise<Connection | null>;
  /** Calls a service that executions share, and postpones the run while it is unavailable. Absent outside of executions. */
  readonly guarded?: <T>(target: Target, call: () => Promise<T>) => Promise<T>;
  /** An empty or invisible answer is a failure. */
  readonly mustAnswer?: boolean;
  /** The arguments of a call as they may be sent. Throws a `Failure` where the call is refused. */
  readonly outgoing?: (tool: RegisteredTool, input: Parameters) => Promise<Parameters>;
  /** Why it may not call tools that write; absent or `null` where it may. */
  readonly readOnly?: string | null;
  /** Which of its writes wait for approval; absent outside of executions. */
  readonly approval?: Approval;
  /** A transient failure of a tool ends the attempt, because it will be retried. Otherwise the model gets the error. */
  readonly resumable: boolean;
  /** Longest wait between two attempts of one request, milliseconds. */
  readonly longestRetryWaitMs?: number;
  /** Gets the answer in pieces while the model writes it. */
  readonly onDelta?: (text: string) => void;
  readonly onToolCall?: (step: StepRow) => void;
}

export interface ConversationDeps {
  readonly tools: Pick<ToolRegistry, "get">;
  /** `null` while no LLM is configured. */
  readonly llm: Llm | null;
  /** What requests cost where the proxy does not report it. */
  readonly prices: Prices;
  readonly maxToolRounds: number;
  readonly trackerUpdates: boolean;
}

/** Alternates between the model and its tools until an answer without tool calls, or the last round. Resumes behind the last step of the log. */
export async function converse(conversation: Conversation, deps: ConversationDeps): Promise<string> {
  const tools = conversation.plan.tools.map((name) => deps.tools.get(name)).filter((tool) => tool !== undefined);
  for (let round = 0; ; round++) {
    const done = modelSteps(conversation.log)[round];
    const limit = done ? null : (conversation.budget?.exhausted(conversation.log) ?? null);
    const withTools = round < deps.maxToolRounds && limit === null;
    const answer = done ?? (await ask(conversation, withTools ? tools : [], limit, deps));
    const { tool_calls } = answer.output as ModelOutput;
    if (!withTools || tool_calls.length === 0) return finish(conversation, answer, round, deps);
    for (const [i, call] of tool_calls.entries()) {
      const done = toolStepsAfter(conversation.log, answer)[i];
      if (done && done.state !== "started") continue;
      const step = await callTool(conversation, call, done, { ...deps, next: () => begin(conversation, tool_calls[i + 1]) });
      conversation.onToolCall?.(step);
    }
  }
}

/** The text of the last answer. One that was cut off is asked for once more. */
async function finish(conversation: Conversation, answer: StepRow, round: number, deps: ConversationDeps): Promise<string> {
  const { log } = conversation;
  const first = answer.output as ModelOutput;
  if (!isCut(first)) {
    if (conversation.mustAnswer) requireAnswer(first.content, answer, log);
    return first.content;
  }
  const known = modelSteps(log)[round + 1];
  if (!known) {
    begin(conversation);
    await log.flush({ agent_id: conversation.plan.agent_id });
  }
  const second = known ?? (await ask(conversation, [], null, deps));
  const text = joinAnswer([first, second.output as ModelOutput]);
  if (conversation.mustAnswer) requireAnswer(text, second, log);
  return text;
}

export interface ModelOutput {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
  /** Why the model stopped early: `length` or `content_filter`. */
  readonly finish_reason?: string;
  readonly refusal?: string;
}

/** The answers of the model, without failed ones. */
export const modelSteps = (log: StepLog): StepRow[] =>
  log.steps.filter((step) => step.kind === "model" && step.state !== "failed" && step.state !== "started");

/**
 * Adds the step that comes next as started: a call of a tool, else a request to the model. It is stored together with the step
 * before it, and so before its own request goes out.
 */
function begin({ plan, log }: Conversation, call?: ToolCall): StepRow {
  const { agent_id } = plan;
  if (!call) return log.add({ kind: "model", state: "started", name: plan.model, agent_id });
  return log.add({ kind: "tool", state: "started", name: eligibleName(plan, call), agent_id, input: call.arguments });
}

/** A request to the model from an earlier attempt, without an answer: it is sent again. */
const isUnanswered = ({ kind, state, output, prompt_tokens }: StepRow): boolean =>
  kind === "model" && (state === "started" || (state === "failed" && output === null && prompt_tokens === 0));

/** The step of the next request to the model, stored as started. A call without limits is answered in the same request, so there it is not stored before its end. */
async function beginRequest(conversation: Conversation): Promise<StepRow> {
  const { plan, log, limits } = conversation;
  const last = log.steps.at(-1);
  const found = last && isUnanswered(last) ? last : null;
  if (found && log.isOfThisAttempt(found)) return found;
  const step = found ?? begin(conversation);
  if (found) log.complete(found, { state: "started", error: null, name: plan.model, started_at: new Date().toISOString() });
  if (limits) await log.flush({ agent_id: plan.agent_id });
  return step;
}

/** The tool steps that belong to one answer of the model, in the order of its calls. */
function toolStepsAfter(log: StepLog, answer: StepRow): StepRow[] {
  const rest = log.steps.slice(answer.seq + 1);
  const end = rest.findIndex((step) => step.kind !== "tool");
  return end === -1 ? rest : rest.slice(0, end);
}

/** `limit`: the limit that the run has reached, whose last request this is. */
async function ask(
  conversation: Conversation,
  tools: readonly RegisteredTool[],
  limit: string | null,
  deps: ConversationDeps,
): Promise<StepRow> {
  const { plan, log } = conversation;
  const { llm } = deps;
  if (!llm) throw new Failure("No LLM is configured. Set LLM_BASE_URL and restart the execution.", { retryable: false });
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
  const step = await beginRequest(conversation);
  const began = performance.now();
  const answer = await send(conversation, request, llm);
  const cost = answer.costUsd ?? deps.prices.of(answer.model, answer.promptTokens, answer.completionTokens);
  const output = limit === null ? outputOf(answer) : { content: cutShort(answer.content, limit), tool_calls: [] };
  log.complete(step, {
    state: "succeeded",
    error: null,
    is_answered: true,
    name: answer.model,
    output,
    prompt_tokens: answer.promptTokens,
    completion_tokens: answer.completionTokens,
    cost_usd: cost,
    duration_ms: Math.round(performance.now() - began),
  });
  // The last answer is stored together with the post that follows. An answer with tool calls is stored before they run.
  if (output.tool_calls.length > 0 && tools.length > 0) begin(conversation, output.tool_calls[0]);
  if (output.tool_calls.length > 0) await log.flush({ agent_id: plan.agent_id });
  return step;
}

const outputOf = ({ content, toolCalls, finishReason, refusal }: ChatAnswer): ModelOutput => ({
  content,
  tool_calls: toolCalls,
  ...(finishReason !== null && /^(?:length|content_filter)$/.test(finishReason) && { finish_reason: finishReason }),
  ...(refusal !== null && { refusal }),
});
/** Sends a request within the budget. What a failed one reserved is free again; one that was interrupted may have cost it. */
async function send(
  { budget, limits, signal, guarded, ...conversation }: Conversation,
  request: ChatRequest,
  llm: Llm,
): Promise<ChatAnswer> {
  await budget?.reserve(request, signal);
  limits?.lease.progress(longestRetryMs(llm.timeoutMs));
  try {
    const longestWaitMs = conversation.longestRetryWaitMs;
    const call = () => retry(() => measuredChat(llm, request, signal, conversation.onDelta), signal, { longestWaitMs });
    return await (guarded ? guarded(modelTarget, call) : call());
  } catch (error) {
    if (!signal.aborted) await budget?.release();
    throw error;
  }
}

/** The rounds so far, as messages to the model. */
function dialogue({ log, since }: Conversation, tools: ConversationDeps["tools"]): Message[] {
  const rounds = modelSteps(log).map((step) => {
    const output = step.output as ModelOutput;
    const found = output.tool_calls.length === 0 ? [] : toolStepsAfter(log, step);
    return { output, steps: output.tool_calls.map((_, i) => found[i]) };
  });
  const results = toolResults(
    rounds.flatMap(({ steps }) => steps),
    since ?? null,
    (name) => tools.get(name),
  );
  return rounds.flatMap(({ output }): Message[] => {
    const { content, tool_calls } = output;
    if (tool_calls.length === 0) {
      const said: Message[] = content === "" ? [] : [{ role: "assistant", content }];
      return isCut(output) ? [...said, { role: "user", content: goOn }] : said;
    }
    const answers = tool_calls.map(
      (call): Message => ({ role: "tool", tool_call_id: call.id, content: results.shift() as string }),
    );
    return [{ role: "assistant", content, tool_calls }, ...answers];
  });
}
