import type { Output } from "@signalbox/schema/operation";
import type { get } from "@signalbox/schema/usage";
import type { Queryable } from "../platform/database/client.ts";

export async function sumAll(sql: Queryable): Promise<Output<typeof get>> {
  const [tasks] = await sql<[{ total: number; succeeded: number; failed: number; running: number; queued: number }]>`
    select count(*) as total, count(*) filter (where state = 'succeeded') as succeeded, count(*) filter (where state = 'failed') as failed,
      count(*) filter (where state = 'running') as running, count(*) filter (where state = 'queued') as queued
    from task_executions`;
  const [steps] = await sql<[{ prompt: number; completion: number; called: number; failed: number }]>`
    select coalesce(sum(prompt_tokens), 0)::bigint as prompt, coalesce(sum(completion_tokens), 0)::bigint as completion,
      count(*) filter (where kind = 'tool') as called, count(*) filter (where kind = 'tool' and state = 'failed') as failed
    from execution_steps`;
  const { prompt, completion, called, failed } = steps;
  return { tokens: { prompt, completion, total: prompt + completion }, tasks, tool_calls: { total: called, failed } };
}
