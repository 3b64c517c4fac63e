import { problem } from "@signalbox/schema/problem";
import { LeaseLost } from "../execution/lease.ts";
import { writeChanges } from "../execution/steps/queries.ts";
import { Transcript } from "../execution/steps/transcript.ts";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { findHeld, type Session } from "./queries.ts";

/** Ends the executions that connected agents hold. */
export interface TaskResults {
  complete(session: Session, executionId: string, result: string): Promise<void>;
  fail(session: Session, executionId: string, error: string, retryable: boolean): Promise<void>;
}

export interface TaskResultParts {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  readonly alarm: (message: string, context: Record<string, unknown>) => void;
}

export function taskResults({ sql, bus, alarm, ...retries }: TaskResultParts): TaskResults {
  const open = async (session: Session, executionId: string) => {
    const task = await findHeld(sql, session.id_hash, executionId);
    if (!task) {
      const why = "it was completed, went back to the queue, or its lease expired";
      throw problem("not_found", `This session holds no execution ${executionId}: ${why}.`, { field: "execution_id" });
    }
    const write = async (change: Parameters<typeof writeChanges>[1][number]) => (await writeChanges(sql, [change]))[0] === true;
    return { task, transcript: await Transcript.open(sql, task, write) };
  };
  const close = async (transcript: Transcript, id: string, patch: Parameters<Transcript["flush"]>[0]) => {
    await transcript.flush(patch).catch((error) => {
      if (!(error instanceof LeaseLost)) throw error;
      const message = `The lease of the execution ${id} expired, and the execution went back to the queue.`;
      throw problem("not_found", message, { field: "execution_id" });
    });
    await bus.publish("queue");
    await bus.publish("handed-in", id);
  };

  return {
    complete: async (session, executionId, result) => {
      const { task, transcript } = await open(session, executionId);
      // Recorded like an answer of the LLM: the worker that claims the execution next posts it.
      transcript.add({
        kind: "model",
        state: "succeeded",
        name: `agent:${session.agent_id}`,
        agent_id: session.agent_id,
        output: { content: result, tool_calls: [] },
      });
      await close(transcript, task.id, { state: "queued" });
    },
    fail: async (session, executionId, reason, retryable) => {
      const { task, transcript } = await open(session, executionId);
      const error = `${session.agent_id}: ${reason}`;
      const again = retryable && task.failures < retries.retryLimit;
      await close(transcript, task.id, {
        ...(again ? { state: "queued", delay_ms: retries.retryDelaySeconds * 1000 * 2 ** task.failures } : { state: "failed" }),
        ...{ error, failures: task.failures + 1 },
      });
      if (!again) alarm("execution failed", { execution_id: task.id, task_id: task.task_id, error });
    },
  };
}
