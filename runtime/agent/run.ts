import { findAgent } from "../agents/queries.ts";
import type { Sql } from "../database/client.ts";
import type { Log } from "../log.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Host, ToolEntry } from "../plugins/host.ts";
import { findTask } from "../tasks/queries.ts";
import { attempt, Failure } from "./attempts.ts";
import type { ChatAnswer, ChatRequest, Llm, Message, ToolCall } from "./llm.ts";
import { postAnswer } from "./post.ts";
import { systemPrompt, taskPrompt } from "./prompt.ts";
import { type Claimed, matchAgent, useAgent } from "./queries.ts";
import { callTool } from "./tool-step.ts";
import { functionName, offeredTools, toFunction } from "./tools.ts";
import type { StepRow } from "./transcript/queries.ts";
import type { Transcript } from "./transcript/transcript.ts";

/** What a run needs. */
export interface RunDeps {
  readonly sql: Sql;
  readonly host: Host;
  /** `null` while no LLM is configured. */
  readonly llm: Llm | null;
  readonly defaultModel: string;
  readonly maxToolRounds: number;
  readonly trackerUpdates: boolean;
  /** The connection in whose name an execution writes. */
  readonly connectionFor: (source: string, execution: Claimed, agentId: string | null) => Promise<Connection | null>;
  readonly log: Log;
}

export interface Run {
  readonly execution: Claimed;
  readonly transcript: Transcript;
  readonly signal: AbortSignal;
}

/** What was decided before the first request; kept in the transcript, so that a continued run works by the same rules. */
interface Plan {
  readonly agent_id: string | null;
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  /** Qualified names of the tools offered. */
  readonly tools: readonly string[];
}

/**
 * Runs an execution to its end: select the agent, compose the prompt, ask the model and run the tools it calls, post the
 * answer. Continues behind the last step of the transcript.
 */
export async function runExecution(run: Run, deps: RunDeps): Promise<void> {
  const { transcript } = run;
  const plan = (transcript.steps[0]?.input as Plan | undefined) ?? (await makePlan(run, deps));
  const tools = plan.tools.map((name) => deps.host.tools.get(name)).filter((tool) => tool !== undefined);
  let answer = await converse(run, plan, tools, deps);
  answer = answer.trim();
  const url = answer === "" ? null : await postAnswer(run, plan.agent_id, answer, deps);
  await transcript.flush({ ...transcript.totals(), state: "succeeded", result: answer, result_url: url, error: null });
}

async function makePlan({ execution, transcript }: Run, deps: RunDeps): Promise<Plan> {
  const task = await findTask(deps.sql, execution.task_id);
  if (!task) throw new Failure(`The task "${execution.task_id}" does not exist any more.`, { retryable: false });
  const matched = task.required_capabilities.length > 0 ? await matchAgent(deps.sql, task.required_capabilities) : undefined;
  const agent = (await findAgent(deps.sql, matched ?? task.actor_id)) ?? null;
  if (!agent && !task.actor_fallback?.trim()) {
    throw new Failure(`The agent "${task.actor_id}" does not exist, and the task "${task.id}" has no actor_fallback.`, {
      retryable: false,
    });
  }
  if (agent && task.required_capabilities.length > 0) await useAgent(deps.sql, agent.id);
  const plan: Plan = {
    agent_id: agent?.id ?? null,
    model: agent?.model ?? deps.defaultModel,
    temperature: agent?.temperature ?? null,
    messages: [{ role: "system", content: systemPrompt(agent, task) }, taskPrompt(task, execution)],
    tools: offeredTools(deps.host, execution.source, agent?.allowed_tools ?? null).map((tool) => tool.qualifiedName),
  };
  transcript.add({ kind: "prompt", state: "succeeded", agent_id: plan.agent_id, input: plan });
  return plan;
}

/** Model and tools in turns, until an answer without tool calls or the last round. */
async function converse(run: Run, plan: Plan, tools: readonly ToolEntry[], deps: RunDeps): Promise<string> {
  const { transcript } = run;
  for (let round = 0; ; round++) {
    const withTools = round < deps.maxToolRounds;
    const answer = modelSteps(transcript)[round] ?? (await ask(run, plan, withTools ? tools : [], deps));
    const { content, tool_calls } = answer.output as ModelOutput;
    if (!withTools || tool_calls.length === 0) return content;
    for (const [i, call] of tool_calls.entries()) {
      const done = toolStepsAfter(transcript, answer)[i];
      if (done && done.state !== "started") continue;
      const tool = tools.find((entry) => functionName(entry) === call.name);
      await callTool(run, { call, tool, before: done, agentId: plan.agent_id }, deps);
    }
  }
}

interface ModelOutput {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
}

const modelSteps = (transcript: Transcript): StepRow[] => transcript.steps.filter((step) => step.kind === "model");

/** The tool steps that belong to one answer of the model, in the order of its calls. */
function toolStepsAfter(transcript: Transcript, answer: StepRow): StepRow[] {
  const rest = transcript.steps.slice(answer.seq + 1);
  const end = rest.findIndex((step) => step.kind !== "tool");
  return end === -1 ? rest : rest.slice(0, end);
}

async function ask({ transcript, signal }: Run, plan: Plan, tools: readonly ToolEntry[], deps: RunDeps): Promise<StepRow> {
  const { llm } = deps;
  if (!llm) throw new Failure("No LLM is configured. Set LLM_BASE_URL and restart the execution.", { retryable: false });
  const request: ChatRequest = {
    model: plan.model,
    temperature: plan.temperature,
    messages: [...plan.messages, ...dialogue(transcript)],
    tools: tools.map(toFunction),
  };
  const began = performance.now();
  const answer: ChatAnswer = await attempt(() => llm.chat(request, signal), signal);
  const step = transcript.add({
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
  if (answer.toolCalls.length > 0) await transcript.flush({ agent_id: plan.agent_id });
  return step;
}

/** The rounds so far, as the model is told them. */
function dialogue(transcript: Transcript): Message[] {
  return transcript.steps.flatMap((step): Message[] => {
    if (step.kind !== "model") return [];
    const { content, tool_calls } = step.output as ModelOutput;
    if (tool_calls.length === 0) return [{ role: "assistant", content }];
    const results = toolStepsAfter(transcript, step);
    const told = tool_calls.map((call, i): Message => ({ role: "tool", tool_call_id: call.id, content: tell(results[i]) }));
    return [{ role: "assistant", content, tool_calls }, ...told];
  });
}

/** Longest tool result that a model is handed, in characters. */
const maxResult = 50_000;

function tell(step: StepRow | undefined): string {
  const text = JSON.stringify(step?.error ? { error: step.error } : (step?.output ?? null));
  return text.length > maxResult ? `${text.slice(0, maxResult)} [cut: ${text.length} characters in all]` : text;
}
