import type { Target } from "../breakers/breakers.ts";
import type { Prices } from "../budgets/prices.ts";
import type { Llm } from "../llm/client.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Approval } from "./approval.ts";
import type { RunBudget } from "./budget.ts";
import type { Plan, StepLog } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";
import type { AttemptLimits } from "./write-step.ts";

/** A model that works with tools, by a plan: for an execution, or in a chat. */
export interface Conversation {
  /** Prefix of the keys of its writes to trackers. */
  readonly id: string;
  readonly plan: Plan;
  readonly log: StepLog;
  readonly signal: AbortSignal;
  readonly connectionFor: (source: string) => Promise<Connection | null>;
  /** Returns the arguments of a call as they may be sent. Throws a `Failure` if the call is refused. */
  readonly argumentsToSend: (tool: RegisteredTool, input: Parameters) => Promise<Parameters>;
  /** What an execution adds; `null` in a chat, which no other attempt can resume. */
  readonly execution: ExecutionPart | null;
  /** Maximum wait between two attempts of one request, in milliseconds. */
  readonly maxRetryWaitMs?: number;
  /** Gets the answer in pieces while the model writes it. */
  readonly onDelta?: (text: string) => void;
  readonly onToolCall?: (step: StepRow) => void;
}

/**
 * The part of a conversation that belongs to its execution: the event, and what the event and the policy allow. With it, a transient
 * failure of a tool ends the attempt, because another one can follow, and an empty or invisible answer is a failure.
 */
interface ExecutionPart {
  readonly limits: AttemptLimits;
  readonly budget: RunBudget;
  /** Which of its writes wait for approval. */
  readonly approval: Approval;
  /** Why it may not call tools that write now; `null` if it may. */
  readonly writeRefusal: () => string | null;
  /** Calls a service that executions share, and postpones the run while it is unavailable. */
  readonly guard: <T>(target: Target, call: () => Promise<T>) => Promise<T>;
  /** Whether the agent has no model of its own. */
  readonly isDefaultModel: boolean;
  /** Default `project` of a tool call, for tools that have this parameter. */
  readonly project: string | null;
  /** Subject of the event, `<source>:<project>#<issue>`. */
  readonly subject: string | null;
  /** Whether its subject is not visible to everyone in the project. */
  readonly private: boolean;
  /** When the event happened, in milliseconds since the epoch. Tool results mark texts that were written later. */
  readonly eventTime: number | null;
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
