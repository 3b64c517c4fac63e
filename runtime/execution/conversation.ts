import type { SubjectDetails } from "@signalbox/sdk";
import type { Target } from "../breakers/breakers.ts";
import type { Prices } from "../budgets/prices.ts";
import type { Llm, Message } from "../llm/client.ts";
import { turnAfter } from "../outbox/open.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Approval } from "./approval.ts";
import type { RunBudget } from "./budget.ts";
import { isCut, joinAnswer, requireAnswer } from "./final-answer.ts";
import { askModel, beginStep, type ModelOutput, modelSteps, toolStepsAfter } from "./model-step.ts";
import type { Patch, StepRow } from "./steps/queries.ts";
import { callTool } from "./tools-step.ts";
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
  /** Prefix of the keys of its writes to trackers. */
  readonly id: string;
  readonly plan: Plan;
  readonly log: StepLog;
  readonly signal: AbortSignal;
  /** Bounds of the attempt; absent outside of executions, where no other worker can resume it. */
  readonly limits?: AttemptLimits;
  /** Budget of the run; absent outside of executions. */
  readonly budget?: RunBudget;
  /** Default `project` of a tool call, for tools that have this parameter. */
  readonly project: string | null;
  /** Subject of the event, `<source>:<project>#<issue>`. */
  readonly subject?: string | null;
  /** Whether its subject is not visible to everyone in the project; absent outside of executions. */
  readonly private?: boolean;
  /** When the event that started it happened, in milliseconds since the epoch. Tool results mark texts that were written later. */
  readonly since?: number | null;
  readonly connectionFor: (source: string) => Promise<Connection | null>;
  /** Calls a service that executions share, and postpones the run while it is unavailable. Absent outside of executions. */
  readonly guarded?: <T>(target: Target, call: () => Promise<T>) => Promise<T>;
  /** An empty or invisible answer is a failure. */
  readonly mustAnswer?: boolean;
  /** Returns the arguments of a call as they may be sent. Throws a `Failure` if the call is refused. */
  readonly outgoing?: (tool: RegisteredTool, input: Parameters) => Promise<Parameters>;
  /** Why it may not call tools that write; absent or `null` if it may. */
  readonly readOnly?: string | null;
  /** Which of its writes wait for approval; absent outside of executions. */
  readonly approval?: Approval;
  /** Whether another attempt can follow. If so, a transient failure of a tool ends the attempt; otherwise the model gets the error. */
  readonly resumable: boolean;
  /** Maximum wait between two attempts of one request, in milliseconds. */
  readonly maxRetryWaitMs?: number;
  /** Gets the answer in pieces while the model writes it. */
  readonly onDelta?: (text: string) => void;
  readonly onToolCall?: (step: StepRow) => void;
}

export interface ConversationDeps {
  readonly tools: Pick<ToolRegistry, "get">;
  /** `null` while no LLM is configured. */
  readonly llm: Llm | null;
  /** Prices of requests whose cost the proxy does not report. */
  readonly prices: Prices;
  readonly maxToolRounds: number;
  readonly trackerUpdates: boolean;
}

/** Alternates between the model and its tools until an answer without tool calls, or the last round. Resumes after the last step of the log. */
export async function converse(conversation: Conversation, deps: ConversationDeps): Promise<string> {
  const tools = conversation.plan.tools.map((name) => deps.tools.get(name)).filter((tool) => tool !== undefined);
  for (let round = 0; ; round++) {
    const done = modelSteps(conversation.log)[round];
    const limit = done ? null : (conversation.budget?.exhausted(conversation.log) ?? null);
    const withTools = round < deps.maxToolRounds && limit === null;
    const answer = done ?? (await askModel(conversation, withTools ? tools : [], limit, deps));
    const { tool_calls } = answer.output as ModelOutput;
    if (!withTools || tool_calls.length === 0) return finish(conversation, answer, round, deps);
    for (const [i, call] of tool_calls.entries()) {
      const done = toolStepsAfter(conversation.log, answer)[i];
      if (done && done.state !== "started") continue;
      const step = await callTool(conversation, call, done, { ...deps, next: () => beginStep(conversation, tool_calls[i + 1]) });
      conversation.onToolCall?.(step);
    }
  }
}

/** The text of the last answer. If it was cut off, it is requested once more. */
async function finish(conversation: Conversation, answer: StepRow, round: number, deps: ConversationDeps): Promise<string> {
  const { log } = conversation;
  const first = answer.output as ModelOutput;
  if (!isCut(first)) {
    if (conversation.mustAnswer) requireAnswer(await turnAfter(first.content), answer, log);
    return first.content;
  }
  const known = modelSteps(log)[round + 1];
  if (!known) {
    beginStep(conversation);
    await log.flush({ agent_id: conversation.plan.agent_id });
  }
  const second = known ?? (await askModel(conversation, [], null, deps));
  const text = joinAnswer([first, second.output as ModelOutput]);
  if (conversation.mustAnswer) requireAnswer(await turnAfter(text), second, log);
  return text;
}
