import type { Queryable } from "../platform/database/client.ts";
import type { AccountChoice } from "../plugins/connections.ts";

/** The facts that determine the account with which an execution posts. */
export interface Poster extends AccountChoice {
  readonly source: string;
  readonly agent_id: string | null;
}

/** Failed posts on one issue. */
export interface FailedPosts extends Poster {
  readonly subject: string;
  readonly executions: number;
  readonly last_at: string;
  /** That of the latest failure. */
  readonly error: string;
}

/** The posts that failed in the last hour at sources where at least two issues are concerned; the newest first. */
export const listFailedPosts = (sql: Queryable): Promise<FailedPosts[]> =>
  sql<FailedPosts[]>`
    with failed as (
      select e.source, e.slug, e.project_id, e.agent_id, e.subject, e.finished_at, post.error
      from task_executions e cross join lateral (
        select kind, error from execution_steps where execution_id = e.id order by seq desc limit 1
      ) post
      where e.state = 'failed' and e.finished_at > now() - interval '1 hour' and e.subject is not null
        and post.kind = 'post' and post.error is not null and post.error not like 'Internal error%'
    )
    select source, slug, project_id, agent_id, subject, count(*)::int as executions, max(finished_at) as last_at,
      (array_agg(error order by finished_at desc))[1] as error
    from failed where source in (select source from failed group by source having count(distinct subject) > 1)
    group by source, slug, project_id, agent_id, subject order by last_at desc limit 10000`;

/** The last post of each poster among the latest 10,000 posts at these sources that succeeded after this time. */
export const listLastPosts = (
  sql: Queryable,
  sources: readonly string[],
  since: string,
): Promise<(Poster & { readonly last_at: string })[]> =>
  sql<(Poster & { readonly last_at: string })[]>`
    select source, slug, project_id, agent_id, max(finished_at) as last_at from (
      select source, slug, project_id, agent_id, finished_at from task_executions
      where finished_at > ${since} and state = 'succeeded' and result_url is not null and source = any(${sources as string[]})
      order by finished_at desc limit 10000
    ) latest group by source, slug, project_id, agent_id`;
