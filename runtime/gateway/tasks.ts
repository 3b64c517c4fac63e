import { problem } from "@signalbox/schema/problem";
import { writeChanges } from "../agent/transcript/queries.ts";
import { Transcript } from "../agent/transcript/transcript.ts";
import type { Bus } from "../bus.ts";
import type { Sql } from "../database/client.ts";
import { newId } from "../ids.ts";
import type { Log } from "../log.ts";
import * as queries from "./queries.ts";

/** How long a stream counts as open without a sign of life from the replica that serves it, seconds. */
const streamSeconds = 15;

export interface Received {
  readonly execution_id: string;
  readonly task_id: string;
  readonly task_name: string;
  readonly canonical_trigger: string;
  readonly system_prompt: string;
  readonly content: string;
  readonly project_id: number | null;
  readonly lease_expires_at: string;
}

export interface TaskStreams {
  /** The tasks for one stream, until `signal` is aborted. What is not completed by then goes back to the queue. */
  receive(session: queries.Session, maxInFlight: number, signal: AbortSignal): AsyncIterable<Received>;
  complete(session: queries.Session, executionId: string, result: string): Promise<void>;
  fail(session: queries.Session, executionId: string, error: string, retryable: boolean): Promise<void>;
}

export interface StreamOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
}

export function createTaskStreams(options: StreamOptions): TaskStreams {
  const { sql, bus, log, leaseSeconds } = options;
  const streams = new Set<() => void>();
  bus.on("gateway", () => {
    for (const rouse of streams) rouse();
  });

  async function* receive(session: queries.Session, maxInFlight: number, signal: AbortSignal): AsyncIterable<Received> {
    const id = newId();
    await queries.insertStream(sql, { id, agent_id: session.agent_id, session_hash: session.id_hash }, streamSeconds);
    await bus.publish("streams");
    let rouse = () => {};
    const wake = () => rouse();
    streams.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        const slept = new Promise<void>((done) => {
          const timer = setTimeout(done, (streamSeconds * 1000) / 5);
          rouse = () => {
            clearTimeout(timer);
            done();
          };
        });
        const free = Math.max(1, maxInFlight) - (await queries.countOfStream(sql, id));
        const taken = free > 0 ? await queries.takeOffered(sql, session.agent_id, id, free, leaseSeconds) : [];
        for (const one of taken) yield asReceived(one);
        if (!(await queries.renewStream(sql, id, streamSeconds)) || !(await queries.findSession(sql, session.id_hash))) {
          throw problem("unauthenticated", "The session has ended. Call RegisterAgent for a new one.");
        }
        if (taken.length === 0 && !signal.aborted) await slept;
        rouse();
      }
    } finally {
      streams.delete(wake);
      const released = await queries
        .releaseStream(sql, id)
        .catch((error) => log.warn("a stream's tasks were not given back; their leases will end", { error }));
      await bus.publish("streams").catch(() => {});
      if (released) await bus.publish("queue").catch(() => {});
    }
  }

  const held = async (session: queries.Session, executionId: string) => {
    const task = await queries.findHeld(sql, session.id_hash, executionId);
    if (!task) {
      throw problem(
        "not_found",
        `This session holds no execution ${executionId}: it was completed, given back, or its lease has ended.`,
        {
          field: "execution_id",
        },
      );
    }
    const write = async (change: Parameters<typeof writeChanges>[1][number]) => (await writeChanges(sql, [change]))[0] === true;
    return { task, transcript: await Transcript.open(sql, task, write) };
  };

  return {
    receive,
    complete: async (session, executionId, result) => {
      const { task, transcript } = await held(session, executionId);
      // As if the LLM had answered: whoever takes the execution up next finds the answer and posts it.
      transcript.add({
        kind: "model",
        state: "succeeded",
        name: `agent:${session.agent_id}`,
        agent_id: session.agent_id,
        output: { content: result, tool_calls: [] },
      });
      await transcript.flush({ state: "queued" }).catch(refuseLate(task.id));
      await bus.publish("queue");
      await bus.publish("gateway");
    },
    fail: async (session, executionId, error, retryable) => {
      const { task, transcript } = await held(session, executionId);
      const again = retryable && task.failures < options.retryLimit;
      const patch = again
        ? { state: "queued" as const, delay_ms: options.retryDelaySeconds * 1000 * 2 ** task.failures }
        : { state: "failed" as const };
      await transcript
        .flush({ ...patch, error: `${session.agent_id}: ${error}`, failures: task.failures + 1 })
        .catch(refuseLate(task.id));
      await bus.publish("queue");
      await bus.publish("gateway");
    },
  };
}

const refuseLate = (id: string) => () => {
  throw problem("not_found", `The lease of the execution ${id} has ended; somebody else has it now.`, { field: "execution_id" });
};

const asReceived = (one: queries.HandedOver): Received => {
  const text = (role: string) =>
    one.plan.messages
      .filter((message) => message.role === role)
      .map((message) => message.content)
      .join("\n\n");
  return {
    execution_id: one.id,
    task_id: one.task_id,
    task_name: one.task_name ?? one.task_id,
    canonical_trigger: one.canonical_trigger,
    system_prompt: text("system"),
    content: text("user"),
    project_id: one.project_id,
    lease_expires_at: one.lease_expires_at,
  };
};
