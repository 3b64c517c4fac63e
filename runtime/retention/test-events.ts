import type { Sql } from "../platform/database/client.ts";
import { firstIdOf, newId } from "../platform/ids.ts";

let serial = 0;

/** The limits of these tests. */
export const days = {
  RETENTION_EVENT_DAYS: 90,
  RETENTION_DISCARDED_DAYS: 7,
  RETENTION_TRANSCRIPT_DAYS: 60,
  RETENTION_HISTORY_DAYS: 400,
  RETENTION_AUDIT_DAYS: 400,
};

/** Default: a dispatched event with a successful execution. */
interface Given {
  readonly ago: number;
  readonly state?: string;
  readonly outcome?: string;
  readonly subject?: string;
  readonly actor?: string;
  readonly cost?: number | null;
  readonly model?: string;
  readonly seconds?: number;
}
/** An event with one execution and two steps, `ago` days old. Returns their common id. */
export async function insertTestEvent(
  sql: Sql,
  { ago, state = "succeeded", outcome = "dispatched", ...more }: Given,
): Promise<string> {
  const at = Date.now() - ago * 86_400_000;
  const id = firstIdOf(at).slice(0, 24) + (++serial).toString(16).padStart(12, "0");
  const time = new Date(at).toISOString();
  const { subject = "alpha:acme/webshop#1", actor = "ann", cost = 0.5, model = "large", seconds = 2 } = more;
  await sql`insert into webhook_events (id, source, slug, delivery_id, event_name, actor, subject, title, outcome, headers, body, received_at)
    values (${id}, 'alpha', 'alpha', ${id}, 'issues', ${actor}, ${subject}, 'Crash at start', ${outcome}, '{"a":"b"}', ${Buffer.from("{}")}, ${time})`;
  if (outcome !== "dispatched") return id;
  const finished = ["succeeded", "failed", "cancelled"].includes(state) ? new Date(at + seconds * 1000).toISOString() : null;
  await sql`insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, subject, content, state, result, prompt_tokens,
      completion_tokens, tool_calls, model, cost_usd, unpriced_tokens, created_at, started_at, finished_at)
    values (${id}, ${id}, 'triage', 'alpha', 'alpha', 'issue.created', ${subject}, 'text', ${state}, 'answer', 100, 10, 1, ${model}, ${cost},
      ${cost === null ? 110 : 0}, ${time}, ${time}, ${finished})`;
  for (const seq of [0, 1])
    await sql`insert into execution_steps (id, execution_id, seq, kind, state, name, created_at)
      values (${newId()}, ${id}, ${seq}, ${seq === 0 ? "model" : "tool"}, 'succeeded', 'x', ${time})`;
  return id;
}
