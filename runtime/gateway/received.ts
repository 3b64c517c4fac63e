import type { receiveTasks } from "@signalbox/schema/gateway";
import type { Output } from "@signalbox/schema/operation";
import type { HandedOver } from "./queries.ts";

/** A task as its agent receives it: the prompt that the LLM would get. */
export function asReceived(one: HandedOver): Output<typeof receiveTasks> {
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
