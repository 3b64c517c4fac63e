import type { Policy } from "@signalbox/schema/policy";
import type { Prices } from "../budgets/prices.ts";
import { cancelReservation, type Exceeded, reserve, reserveReleased } from "../budgets/queries.ts";
import type { ChatRequest } from "../llm/chat-messages.ts";
import { estimateTokens } from "../llm/usage.ts";
import type { Sql } from "../platform/database/client.ts";
import { sleep } from "../platform/retry.ts";
import { type Policies, projectKeyOf } from "../policy/policies.ts";
import { limitName } from "../policy/settings.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { StepLog } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";

/** Why an execution is held, and until when. Without a time, it is held until it is released. */
interface Hold {
  readonly reason: string;
  readonly until: string | null;
  /** What it waits for, in words. */
  readonly waitsFor: string;
  /** No notice is posted on the issue. */
  readonly isQuiet?: boolean;
}

/** A limit is reached: the execution waits for the next window, or for a release. */
export class HoldExecution extends Error {
  override readonly name = "HoldExecution";
  readonly hold: Hold;
  constructor(hold: Hold) {
    super(hold.reason);
    this.hold = hold;
  }
}

const holdOf = ({ reason, until, member }: Exceeded): Hold => ({ reason, until, waitsFor: `the budget ${member}` });

/** The budget of an execution. */
export interface RunBudget {
  /** Why the run ends with one last request without tools; `null` if it may continue. */
  exhaustedLimit(log: StepLog): string | null;
  /** Why a tool must not write again; `null` if it may. */
  exhaustedWriteLimit(log: StepLog, isWrite: (tool: string) => boolean): string | null;
  /**
   * Reserves a request in the daily and monthly budgets. Waits while others have reserved the rest. Throws `HoldExecution` if a
   * budget is used up.
   */
  reserve(request: ChatRequest, signal: AbortSignal): Promise<void>;
  /** Frees the reservation of a failed request. */
  release(): Promise<void>;
  /** Reports an answered request whose cost is unknown. */
  reportUnpriced(model: string): void;
}

export interface BudgetDeps {
  readonly sql: Sql;
  readonly policies: Pick<Policies, "during">;
  readonly settings: Policy;
  readonly prices: Prices;
}

/** Error of a tool call that the write budget refused. */
const noMoreWrites = "This write was not carried out: ";
/** Estimated tokens of an answer. */
const answerTokens = 500;

export function runBudget(
  execution: Pick<ClaimedExecution, "id" | "lease" | "project_id" | "source" | "project" | "is_released">,
  agentId: string | null,
  { sql, policies, settings, prices }: BudgetDeps,
): RunBudget {
  const { project_id } = execution;
  const policy = policies.during(agentId, projectKeyOf(execution));
  const startedAt = performance.now();
  let earlierMs: number | null = null;
  let isReserved = false;
  const hasWindows = () => {
    const { day_tokens, day_usd, month_usd } = policy();
    return day_tokens.value + day_usd.value + month_usd.value > 0;
  };
  const exceededLimit = (member: "run_tokens" | "run_seconds" | "run_writes", used: number): string | null => {
    const { value, level } = policy()[member];
    if (value === 0 || used < value) return null;
    const noun = value === 1 ? nouns[member].slice(0, -1) : nouns[member];
    return `${value.toLocaleString("en")} ${noun} (${limitName(member, level)})`;
  };
  const reservation = (tokens: number, usd: number) => ({
    execution: execution.id,
    lease: execution.lease,
    projectId: project_id,
    agentId,
    tokens,
    usd,
  });
  return {
    exhaustedLimit: (log) => {
      earlierMs ??= log.steps.reduce((sum, step) => sum + step.duration_ms, 0);
      const tokens = log.steps.reduce((sum, step) => sum + step.prompt_tokens + step.completion_tokens, 0);
      const seconds = (earlierMs + performance.now() - startedAt) / 1000;
      const refused = log.steps.some((step) => step.kind === "tool" && step.error?.startsWith(noMoreWrites));
      return (
        exceededLimit("run_tokens", tokens) ??
        exceededLimit("run_seconds", seconds) ??
        (refused ? exceededLimit("run_writes", policy().run_writes.value) : null)
      );
    },
    exhaustedWriteLimit: (log, isWrite) => {
      const writes = log.steps.filter((step) => step.kind === "tool" && countsAsWrite(step) && isWrite(step.name ?? ""));
      const limit = exceededLimit("run_writes", writes.length);
      return limit && `${noMoreWrites}the run has made its ${limit}.`;
    },
    reserve: async (request, signal) => {
      if (!hasWindows()) return;
      const promptTokens = estimateTokens(JSON.stringify(request.messages));
      const tokens = promptTokens + answerTokens;
      const usd = prices.of(request.model, promptTokens, answerTokens) ?? 0;
      if (execution.is_released) {
        await reserveReleased(sql, settings, reservation(tokens, usd));
        isReserved = true;
        return;
      }
      for (let waits = 0; ; waits++) {
        const exceeded = await reserve(sql, settings, reservation(tokens, usd));
        isReserved = !exceeded;
        if (!exceeded) return;
        if (!exceeded.is_busy) throw new HoldExecution(holdOf(exceeded));
        await sleep(Math.min(1_000, 100 * 2 ** waits), signal);
      }
    },
    release: async () => {
      if (isReserved) await cancelReservation(sql, execution.id, execution.lease);
      isReserved = false;
    },
    reportUnpriced: (model) => {
      const { day_usd, month_usd } = policy();
      if (day_usd.value + month_usd.value > 0) prices.reportUnpriced(model);
    },
  };
}

const nouns = { run_tokens: "tokens", run_seconds: "seconds", run_writes: "writes" } as const;

/** A proposal counts too: once it is approved, it is written. */
const countsAsWrite = ({ state }: StepRow): boolean => state === "succeeded" || state === "dry_run" || state === "proposed";

/** The request for an answer of a run that is cut short. */
export const lastRequest = (limit: string): string =>
  `This run has reached a limit: ${limit}. You cannot call any more tools. Write your final answer now with what you know, and say what remains to be done.`;

/** The answer of a run that was cut short, which states that it was. */
export const withLimitNotice = (answer: string, limit: string): string =>
  `${answer.trim()}\n\n_This answer was cut short: the run has reached its limit of ${limit}._`.trim();
