import type { receiveTasks } from "@signalbox/schema/gateway";
import * as gateway from "@signalbox/schema/gateway";
import type { Output } from "@signalbox/schema/operation";
import type { Memory } from "../memory/open.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { gatewayMemoryOperations } from "./memory.ts";
import type { OpenStreams } from "./open-streams.ts";
import { type AssignedExecution, renew } from "./queries.ts";
import { register, requireSession, type SessionOptions, sessionSeconds } from "./sessions.ts";
import type { TaskResults } from "./task-results.ts";

export interface GatewayParts extends SessionOptions {
  readonly streams: OpenStreams;
  readonly results: TaskResults;
  readonly memory: Memory;
  readonly leaseSeconds: number;
}

/** The operations for external agents: registration, tasks, heartbeat, memory. */
export function gatewayOperations(parts: GatewayParts): BoundOperation[] {
  const { streams, results, memory, leaseSeconds } = parts;
  return [
    handle(gateway.register, (input, context) => register(input, context, parts)),
    handle(gateway.heartbeat, async ({ session_id }, { sql }) => {
      const session = await requireSession(sql, parts, session_id);
      const renewed = await renew(sql, session.id_hash, { sessionSeconds, leaseSeconds });
      return renewed ?? { expires_at: session.expires_at, execution_ids: [] };
    }),
    handle(gateway.receiveTasks, async function* ({ session_id, max_in_flight }, { sql, signal }) {
      const session = await requireSession(sql, parts, session_id);
      for await (const one of streams.receive(session, max_in_flight, signal)) yield asReceived(one);
    }),
    handle(gateway.completeTask, async ({ session_id, execution_id, result, ...used }, { sql }) => {
      const session = await requireSession(sql, parts, session_id);
      await results.complete(session, execution_id, result, used);
      return {};
    }),
    handle(gateway.failTask, async ({ session_id, execution_id, error, retryable, ...used }, { sql }) => {
      const session = await requireSession(sql, parts, session_id);
      await results.fail(session, execution_id, { error, retryable }, used);
      return {};
    }),
    ...gatewayMemoryOperations(memory, parts),
  ];
}

/** A task as its agent receives it: the prompt that the LLM would get. */
function asReceived(one: AssignedExecution): Output<typeof receiveTasks> {
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
}
