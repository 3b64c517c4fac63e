import type { chat } from "@signalbox/schema/llm";
import type { Input, Output } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { Agent } from "../agents/queries.ts";
import type { Conversation, ConversationDeps } from "../execution/conversation.ts";
import { converse } from "../execution/converse.ts";
import { modelSteps } from "../execution/model-step.ts";
import { systemPrompt } from "../execution/prompt.ts";
import type { Plan } from "../execution/step-log.ts";
import type { StepRow } from "../execution/steps/rows.ts";
import { UnattachedSteps } from "../execution/steps/unattached-steps.ts";
import type { Recall } from "../memory/recall.ts";
import type { Outbox } from "../outbox/open.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { Failure } from "../platform/retry.ts";
import type { Connections } from "../plugins/connections.ts";
import type { ToolRegistry } from "../tools/registry.ts";

type ChatAnswer = Output<typeof chat>;
type Message = Input<typeof chat>["messages"][number];

export interface ChatDeps extends ConversationDeps {
  readonly tools: ToolRegistry;
  readonly recall: Recall;
  readonly defaultModel: string;
  readonly outbox: Outbox;
  readonly connectionFor: Connections["forExecution"];
}

/** The caller waits for the answer, so a longer Retry-After of the LLM is passed on to the caller. */
const maxRetryWaitMs = 10_000;

/** Callbacks during a chat. */
export type Listeners = Pick<Conversation, "onDelta" | "onToolCall">;

/** One turn of a chat with an agent. Its rounds and tool calls are recorded; its answer is not posted. */
export async function runChat(
  agent: Agent,
  messages: readonly Message[],
  { sql, signal }: { sql: Sql; signal: AbortSignal },
  deps: ChatDeps,
  listeners: Listeners = {},
): Promise<ChatAnswer> {
  const id = newId();
  const log = new UnattachedSteps(sql, id);
  const plan = await makePlan(agent, messages, deps);
  const connectionFor = (source: string) => deps.connectionFor(source, undefined, agent.id);
  try {
    const conversation: Conversation = {
      id,
      plan,
      log,
      signal,
      connectionFor,
      argumentsToSend: async (tool, input) => deps.outbox.withoutSecrets(tool, input),
      execution: null,
      maxRetryWaitMs,
      ...listeners,
    };
    const content = await converse(conversation, deps);
    return answerOf(agent.id, content, log);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Failure)) throw error;
    const after = error.retryAfterMs;
    throw problem("bad_gateway", error.message, { cause: error, ...(after !== undefined && { retryAfter: after / 1000 }) });
  } finally {
    await log.flush();
  }
}

async function makePlan(agent: Agent, messages: readonly Message[], deps: ChatDeps): Promise<Plan> {
  const question = messages.findLast((message) => message.role === "user")?.content ?? "";
  const memories = await deps.recall(question, { execution_id: null, agent_id: agent.id, project_id: null });
  const system = await systemPrompt(agent, { actor_fallback: null }, memories);
  return {
    agent_id: agent.id,
    model: agent.model ?? deps.defaultModel,
    temperature: agent.temperature ?? null,
    messages: [{ role: "system", content: system }, ...messages],
    tools: await eligibleNames(agent, deps),
  };
}

/** Outside of events, the model gets the tools of every configured source and of all other providers. */
async function eligibleNames(agent: Agent, deps: ChatDeps): Promise<string[]> {
  const tools = deps.tools.eligibleTools({ source: null, agentId: agent.id, allowedTools: agent.allowed_tools ?? null });
  const sources = new Set(tools.flatMap((tool) => (tool.source ? [tool.source.name] : [])));
  const configured = new Set<string>();
  for (const source of sources) {
    const connection = await deps.connectionFor(source, undefined, agent.id);
    if (connection && connection.missingSettings.length === 0) configured.add(source);
  }
  return tools.filter((tool) => !tool.source || configured.has(tool.source.name)).map((tool) => tool.qualifiedName);
}

function answerOf(agent_id: string, content: string, log: UnattachedSteps): ChatAnswer {
  const rounds = modelSteps(log);
  const sum = (name: "prompt_tokens" | "completion_tokens") => rounds.reduce((total, step) => total + step[name], 0);
  const [prompt_tokens, completion_tokens] = [sum("prompt_tokens"), sum("completion_tokens")];
  return {
    agent_id,
    model: rounds.at(-1)?.name ?? "",
    content,
    rounds: rounds.length,
    tool_calls: log.steps.filter((step) => step.kind === "tool").map(toolCallOf),
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}

export const toolCallOf = (step: StepRow) => ({ tool: step.name ?? "", status: step.state });
