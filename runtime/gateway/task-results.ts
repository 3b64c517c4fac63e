import type { Policy } from "@signalbox/schema/policy";
import { problem } from "@signalbox/schema/problem";
import type { Prices } from "../budgets/prices.ts";
import { LeaseLost } from "../execution/lease.ts";
import type { NewStep } from "../execution/step-log.ts";
import { writeChanges } from "../execution/steps/queries.ts";
import type { Change, Patch } from "../execution/steps/rows.ts";
import { Transcript } from "../execution/steps/transcript.ts";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Report } from "../platform/log.ts";
import { withdrawOffers } from "./offer-queries.ts";
import { findLeased, type LeasedTask, type Session, wasCancelled } from "./queries.ts";

/** Ends the executions that connected agents have leased. */
export interface TaskResults {
  complete(session: Session, executionId: string, result: string, usage: ReportedUsage): Promise<void>;
  fail(
    session: Session,
    executionId: string,
    failure: { error: string; retryable: boolean },
    usage: ReportedUsage,
  ): Promise<void>;
}

/** The usage of the agent's model, as the agent reports it. */
interface ReportedUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd?: number | undefined;
}

interface TaskEnd {
  readonly task: LeasedTask;
  readonly session: Session;
  readonly usage: ReportedUsage;
}

interface TaskResultParts {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly settings: Policy;
  readonly prices: Prices;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  readonly alarm: Report;
}

export function taskResults({ sql, bus, alarm, settings, prices, ...retries }: TaskResultParts): TaskResults {
  const open = async (session: Session, executionId: string) => {
    const task = await findLeased(sql, session.id_hash, executionId);
    if (!task) {
      const reasons = "it was completed or cancelled, went back to the queue, or the lease expired";
      const known = (await wasCancelled(sql, session.id_hash, executionId)) ? " It was cancelled." : "";
      throw problem("not_found", `This session has no lease on the execution ${executionId}: ${reasons}.${known}`, {
        field: "execution_id",
      });
    }
    const scopes = ["service", `agent ${session.agent_id}`, ...(task.project_id === null ? [] : [`project ${task.project_id}`])];
    const write = async (change: Change) => (await writeChanges(sql, [{ ...change, scopes }]))[0] === true;
    return { task, transcript: await Transcript.open(sql, task, write) };
  };
  /** Its answer, as a step like that of the LLM. */
  const add = (
    transcript: Transcript,
    { agent_id }: Session,
    step: Pick<NewStep, "state" | "output" | "error">,
    usage: ReportedUsage,
  ) => {
    const { prompt_tokens, completion_tokens } = usage;
    const name = `agent:${agent_id}`;
    const any = prompt_tokens + completion_tokens > 0;
    const cost_usd = usage.cost_usd ?? (any ? prices.of(name, prompt_tokens, completion_tokens) : null);
    const answer = { name, agent_id, prompt_tokens, completion_tokens, cost_usd, ...step };
    // The LLM may have received a request before the agent connected, and have given no answer.
    const modelStep = transcript.steps.find(({ kind, state }) => kind === "model" && state === "started");
    if (modelStep) transcript.complete(modelStep, { error: null, ...answer, is_answered: true });
    else transcript.add({ kind: "model", ...answer, is_answered: true });
  };
  const close = async (transcript: Transcript, { task, session, usage }: TaskEnd, patch: Patch) => {
    await transcript.flush({ ...transcript.totals(), ...patch }).catch((error) => {
      if (!(error instanceof LeaseLost)) throw error;
      const message = `The lease of the execution ${task.id} expired, and the execution went back to the queue.`;
      throw problem("not_found", message, { field: "execution_id" });
    });
    if (usage.prompt_tokens + usage.completion_tokens > 0 || usage.cost_usd !== undefined)
      await withdrawOffers(sql, settings, { agentId: session.agent_id, projectId: task.project_id, subject: task.subject });
    await Promise.all([bus.publish("queue"), bus.publish("handed-in", task.id)]);
  };

  return {
    complete: async (session, executionId, result, usage) => {
      const { task, transcript } = await open(session, executionId);
      // Recorded like an LLM answer, so the worker that claims the execution next posts it.
      add(transcript, session, { state: "succeeded", output: { content: result, tool_calls: [] } }, usage);
      await close(transcript, { task, session, usage }, { state: "queued", is_paid: true });
    },
    fail: async (session, executionId, { error: reason, retryable }, usage) => {
      const { task, transcript } = await open(session, executionId);
      const error = `${session.agent_id}: ${reason}`;
      const again = retryable && task.failures < retries.retryLimit;
      if (usage.prompt_tokens + usage.completion_tokens > 0)
        add(transcript, session, { state: "failed", output: null, error }, usage);
      await close(
        transcript,
        { task, session, usage },
        {
          ...(again ? { state: "queued", delay_ms: retries.retryDelaySeconds * 1000 * 2 ** task.failures } : { state: "failed" }),
          error,
          failures: task.failures + 1,
        },
      );
      if (!again) alarm("execution failed", { execution_id: task.id, task_id: task.task_id, error });
    },
  };
}
