import type { Queryable } from "../platform/database/client.ts";

/**
 * Sets the sums of an execution `e` from its stored steps, like `Transcript.totals`: for an update that ends an execution whose
 * worker can no longer store them.
 */
export const setSumsOfSteps = (sql: Queryable) => sql`
  (prompt_tokens, completion_tokens, cost_usd, unpriced_tokens, tool_calls, failed_tool_calls, model) = (
    select coalesce(sum(s.prompt_tokens), 0), coalesce(sum(s.completion_tokens), 0),
      round(sum(s.cost_usd) filter (where s.kind = 'model' and s.state <> 'started')::numeric, 12)::float8,
      coalesce(sum(s.prompt_tokens + s.completion_tokens) filter (where s.kind = 'model' and s.state <> 'started' and s.cost_usd is null), 0),
      count(*) filter (where s.kind = 'tool'), count(*) filter (where s.kind = 'tool' and s.state = 'failed'),
      (array_agg(s.name order by s.seq desc) filter (where s.kind = 'model' and s.state <> 'started'))[1]
    from execution_steps s where s.execution_id = e.id)`;
