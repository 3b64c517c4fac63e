import type { Policy } from "@signalbox/schema/policy";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { dueRow, leaseFor } from "../platform/lease-queries.ts";

/** A request to a model that is about to be sent. */
interface Reservation {
  readonly execution: string;
  readonly lease: string;
  readonly projectId: number | null;
  readonly agentId: string | null;
  /** Estimated. */
  readonly tokens: number;
  readonly usd: number;
}

/** The budget that blocks a request. */
export interface Exceeded {
  readonly member: string;
  readonly until: string;
  readonly reason: string;
  /** The budget is not used up, but requests in flight have reserved the rest. */
  readonly is_busy: boolean;
}

/** Reserves the tokens and the cost that a request may use. Returns `undefined` if it may be sent. See `0046_budgets.sql`. */
export async function reserve(sql: Sql, settings: Policy, request: Reservation): Promise<Exceeded | undefined> {
  const { execution, lease, projectId, agentId, tokens, usd } = request;
  const [row] = await sql<Exceeded[]>`
    select member, until, is_busy, budget_reason(member, used, value, level, until) as reason
    from reserve_budget(${execution}, ${lease}, ${JSON.stringify(settings)}::text::jsonb, ${projectId}, ${agentId}, ${tokens}, ${usd})`;
  return row;
}

/** Reserves the tokens and the cost that a request of a released execution may use. No budget blocks it, but its usage counts. */
export const reserveReleased = (sql: Sql, settings: Policy, request: Reservation): Promise<unknown> => {
  const { execution, lease, projectId, agentId, tokens, usd } = request;
  return sql.begin(async (tx) => {
    await tx`select charge_reservation(${execution})`;
    await tx`
      insert into budget_reservations (execution_id, lease, scopes, tokens, usd)
      select ${execution}, ${lease}, array_agg(s.scope order by s.scope), ${tokens}, ${usd} from (
        select 'service' as scope, ${JSON.stringify(settings)}::text::jsonb as policy
        union all select 'project ' || id, policy from projects where id = ${projectId}
        union all select 'agent ' || id, policy from agents where id = ${agentId}
      ) s
      where exists (select 1 from unnest(array['day_tokens', 'day_usd', 'month_usd']) m where (s.policy ->> m)::float8 > 0)
      having count(*) > 0`;
  });
};

/** The request was refused or never sent, so it costs nothing. */
export const cancelReservation = (sql: Sql, execution: string, lease: string): Promise<unknown> =>
  sql`delete from budget_reservations where execution_id = ${execution} and lease = ${lease}`;

interface NewNotice {
  readonly id: string;
  readonly subject: string;
  readonly source: string;
  readonly slug: string;
  readonly project_id: number | null;
  readonly agent_id: string | null;
  readonly project: string;
  readonly issue: string;
  readonly private: boolean;
  readonly thread: string | null;
  readonly body: string;
}

/** Stores the notice of this hour about an issue; `false` if there is one already. */
export async function insertNotice(sql: Queryable, notice: NewNotice): Promise<boolean> {
  return (
    (await sql`insert into issue_notices ${sql({ ...notice })} on conflict (subject, hour) do nothing returning id`).length > 0
  );
}

export interface Notice extends NewNotice {
  readonly attempts: number;
  readonly lease: string;
}

export const noticeRows = { table: "issue_notices", key: "id", dueColumn: "due_at" } as const;

export async function claimNotice(sql: Sql, lease: string, leaseSeconds: number): Promise<Notice | undefined> {
  const [row] = await sql<Notice[]>`
    with ${dueRow(sql, noticeRows)}
    update issue_notices n set ${leaseFor(sql, lease, leaseSeconds)}, attempts = n.attempts + 1
    from due where n.id = due.id returning n.*`;
  return row;
}
