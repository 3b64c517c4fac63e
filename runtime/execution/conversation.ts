import type { ChatAnswer, ChatRequest, Llm, Message, ToolCall } from "../llm/client.ts";
import { Failure, retry } from "../platform/retry.ts";
import type { Connection } from "../plugins/connections.ts";
import { toFunction } from "../tools/eligible.ts";
import type { RegisteredTool } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Patch, StepRow } from "./steps/queries.ts";
import { callTool } from "./tools-step.ts";

/** What was decided before the first request; kept in the transcript, so that a continued run works by the same rules. */
export interface Plan {
  readonly agent_id: string | null;
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  /** Qualified names of the tools offered. */
  readonly tools: readonly string[];
}

export type NewStep = Partial<StepRow> & Pick<StepRow, "kind" | "state">;

/** Where the steps of a conversation are kept: the transcript of an execution, or the record of a chat. */
export interface StepLog {
  /** The step with the number `seq` stands at that index. */
  readonly steps: readonly StepRow[];
  add(step: NewStep): StepRow;
  complete(step: StepRow, change: Partial<StepRow>): void;
  flush(patch?: Patch): Promise<void>;
}

/** A model at work with tools, by a plan. */
export interface Conversation {
  /** Begins the keys of its writes. */
  readonly id: string;
  readonly plan: Plan;
  readonly log: StepLog;
  readonly signal: AbortSignal;
  /** What `project` is where a tool takes one and the model names none. */
  readonly project: string | null;
  readonly connectionOf: (source: string) => Promise<Connection | null>;
  /** A passing failure of a tool ends the attempt, because there will be another. Else the model is told of it. */
  readonly resumable: boolean;
  /** Longest wait between two tries of one request, milliseconds. */
  readonly patienceMs?: number;
  /** Hears the answer while it is written. */
  readonly onDelta?: (text: string) => void;
  readonly onToolCall?: (step: StepRow) => void;
}

export interface ConversationDeps {
  readonly tools: Pick<ToolRegistry, "get">;
  /** `null` while no LLM is configured. */
  readonly llm: Llm | null;
  readonly maxToolRounds: number;
  readonly trackerUpdates: boolean;
}

/** Model and tools in turns, until an answer without tool calls or the last round. Continues behind the last step of the log. */
export async function converse(talk: Conversation, deps: ConversationDeps): Promise<string> {
  const tools = talk.plan.tools.map((name) => deps.tools.get(name)).filter((tool) => tool !== undefined);
  for (let round = 0; ; round++) {
    const withTools = round < deps.maxToolRounds;
    const answer = modelSteps(talk.log)[round] ?? (await ask(talk, withTools ? tools : [], deps));
    const { content, tool_calls } = answer.output as ModelOutput;
    if (!withTools || tool_calls.length === 0) return content;
    for (const [i, call] of tool_calls.entries()) {
      const done = toolStepsAfter(talk.log, answer)[i];
      if (done && done.state !== "started") continue;
      const step = await callTool(talk, call, done, deps);
      talk.onToolCall?.(step);
    }
  }
}

interface ModelOutput {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
}

export const modelSteps = (log: StepLog): StepRow[] => log.steps.filter((step) => step.kind === "model");

/** The tool steps that belong to one answer of the model, in the order of its calls. */
function toolStepsAfter(log: StepLog, answer: StepRow): StepRow[] {
  const rest = log.steps.slice(answer.seq + 1);
  const end = rest.findIndex((step) => step.kind !== "tool");
  return end === -1 ? rest : rest.slice(0, end);
}

async function ask(talk: Conversation, tools: readonly RegisteredTool[], deps: ConversationDeps): Promise<StepRow> {
  const { plan, log, signal } = talk;
  const { llm } = deps;
  if (!llm) throw new Failure("No LLM is configured. Set LLM_BASE_URL and restart the execution.", { retryable: false });
  const request: ChatRequest = {
    model: plan.model,
    temperature: plan.temperature,
    messages: [...plan.messages, ...dialogue(log)],
    tools: tools.map(toFunction),
  };
  const began = performance.now();
  const answer: ChatAnswer = await retry(() => llm.chat(request, signal, talk.onDelta), signal, {
    longestWaitMs: talk.patienceMs,
  });
  const step = log.add({
    kind: "model",
    state: "succeeded",
    agent_id: plan.agent_id,
    name: answer.model,
    output: { content: answer.content, tool_calls: answer.toolCalls },
    prompt_tokens: answer.promptTokens,
    completion_tokens: answer.completionTokens,
    cost_usd: answer.costUsd,
    duration_ms: Math.round(performance.now() - began),
  });
  // A last answer is stored together with the post that follows it; a call of a tool must find it stored.
  if (answer.toolCalls.length > 0) await log.flush({ agent_id: plan.agent_id });
  return step;
}

/** The rounds so far, as the model is told them. */
function dialogue(log: StepLog): Message[] {
  return modelSteps(log).flatMap((step): Message[] => {
    const { content, tool_calls } = step.output as ModelOutput;
    if (tool_calls.length === 0) return [{ role: "assistant", content }];
    const results = toolStepsAfter(log, step);
    const answers = tool_calls.map((call, i): Message => ({ role: "tool", tool_call_id: call.id, content: tell(results[i]) }));
    return [{ role: "assistant", content, tool_calls }, ...answers];
  });
}

/** Longest tool result that a model is handed, in characters. */
const maxResult = 50_000;

function tell(step: StepRow | undefined): string {
  const text = JSON.stringify(step?.error ? { error: step.error } : (step?.output ?? null));
  return text.length > maxResult ? `${text.slice(0, maxResult)} [cut: ${text.length} characters in all]` : text;
}
