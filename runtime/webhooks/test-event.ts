import { newId } from "../platform/ids.ts";
import type { NewEvent } from "./arrival.ts";

/** An opened issue in the dispatcher's stored form. Tests pass the members that matter to them. */
export function openedEvent(own: Partial<NewEvent> = {}): NewEvent {
  const id = newId();
  return {
    id,
    source: "alpha",
    slug: "alpha",
    delivery_id: id,
    change_key: null,
    event_name: "issues",
    action: "opened",
    actor: null,
    subject: null,
    title: null,
    canonical_triggers: ["issue.created"],
    outcome: "dispatched",
    reason: null,
    replay_of: null,
    polled: false,
    author: null,
    occurred_at: null,
    hook_id: null,
    snapshot: false,
    private: false,
    comment: null,
    thread: null,
    incomplete: false,
    traceparent: null,
    headers: "{}",
    body: Buffer.from("{}"),
    ...own,
  };
}
