import { fieldProblem, problem } from "@signalbox/schema/problem";
import { findAgent } from "../agents/queries.ts";
import type { Queryable } from "../platform/database/client.ts";
import { sha256Of } from "../platform/digest.ts";
import { timeOfId } from "../platform/ids.ts";
import { unpack } from "../platform/packing/packed.ts";
import { findTask } from "../tasks/queries.ts";
import { readable } from "../transcripts/stored-steps.ts";
import type { Receipt } from "../webhooks/dispatch.ts";
import type { Receiver } from "../webhooks/receive.ts";
import type { Origin, ReplayOptions } from "../webhooks/received-webhook.ts";
import type { KeptEvent } from "./queries.ts";

/** Refuses a replay with an agent or a task that does not exist, or with a prompt that would write to the tracker. */
export async function requireReplayable(sql: Queryable, { agent_id, task_id, prompt, dry_run }: ReplayOptions): Promise<void> {
  if (prompt !== undefined && !dry_run)
    throw fieldProblem("prompt", "can only be sent with dry_run=true; change the agent instead");
  if (agent_id !== undefined && !(await findAgent(sql, agent_id)))
    throw fieldProblem("agent_id", `there is no agent "${agent_id}"`);
  if (task_id !== undefined && !(await findTask(sql, task_id))) throw fieldProblem("task_id", `there is no task "${task_id}"`);
}

/** Dispatches a stored event again. `id`: the id of the new event, so that a second replay with it is a duplicate. */
export async function replayEvent(event: KeptEvent, options: ReplayOptions, receiver: Receiver, id?: string): Promise<Receipt> {
  if (event.body_removed_at !== null)
    throw problem(
      "wrong_state",
      `The event's payload was removed at ${event.body_removed_at}, so it cannot be replayed: payloads are kept for RETENTION_EVENT_DAYS or RETENTION_DISCARDED_DAYS, and an erasure removes them immediately.`,
    );
  const entry = await receiver.entry(event.slug);
  if (!entry) throw problem("not_found", `The webhook "${event.slug}", by which the event arrived, no longer exists.`);
  const { value: body, unreadable } = readable("payload", () => unpack(event.body));
  if (!body) throw problem("wrong_state", `${unreadable} Send the webhook again from the platform.`);
  const request = { headers: JSON.parse(event.headers), body };
  const origin: Origin = { kind: "replay", replayOf: event.id, options };
  return receiver.accept(entry, request, await receiver.storedPayload(body), { origin, ...(id !== undefined && { id }) });
}

/** The id of an event's replay in one bulk. It is the same for each request, and its time is that of the bulk's preview. */
export function replayIdOf(eventId: string, token: string, upTo: string): string {
  const hex = sha256Of(`${token} ${eventId}`);
  const time = (timeOfId(upTo) + 1).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-8${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}
