import type { Breakers } from "../breakers/breakers.ts";
import type { Recall } from "../memory/recall.ts";
import type { Outbox } from "../outbox/open.ts";
import type { Log } from "../platform/log.ts";
import type { Policies } from "../policy/policies.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { BudgetDeps } from "./budget.ts";
import type { ConversationDeps } from "./conversation.ts";
import type { Descriptions } from "./describe.ts";
import type { LateStandingDeps } from "./late-standing.ts";
import type { Lookup } from "./lookup.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { Transcript } from "./steps/transcript.ts";
import type { AttemptLimits } from "./write-step.ts";

/** Dependencies of a run. */
export interface RunDeps extends ConversationDeps, BudgetDeps, LateStandingDeps {
  readonly lookup: Lookup;
  readonly tools: ToolRegistry;
  /** Finds the memories for a prompt. */
  readonly recall: Recall;
  readonly defaultModel: string;
  /** Whether an external agent of this id is connected and receives tasks. */
  readonly connected: (agentId: string) => boolean;
  readonly policies: Pick<Policies, "of" | "during" | "limitsProjects">;
  readonly outbox: Outbox;
  readonly breakers: Pick<Breakers, "guard" | "executionSucceeded">;
  /** When replies to our own writes are a loop, and for how long it is held, in seconds. */
  readonly loops: { readonly windowSeconds: number; readonly cooldownSeconds: number };
  /** How long a proposal can be approved, in milliseconds; `null`: without limit. */
  readonly approvalTtlMs: number | null;
  /** Looks up facts about an issue that the payload of its event does not contain. */
  readonly descriptions: Descriptions;
  readonly log: Log;
}

/**
 * `offered`: to the connected agent with this id, instead of the LLM. `postponed`: queued again, because other executions
 * of its issue come first or its project or agent is paused.
 */
export type RunOutcome = { readonly kind: "done" | "postponed" } | { readonly kind: "offered"; readonly to: string };

export interface Run {
  readonly execution: ClaimedExecution;
  readonly transcript: Transcript;
  /** Aborted when the lease is lost, or the service stops. */
  readonly signal: AbortSignal;
  readonly limits: AttemptLimits;
}
