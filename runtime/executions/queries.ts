import type { cancel, get, list } from "@signalbox/schema/executions";
import type { Input, Output } from "@signalbox/schema/operation";
import type { Fragment, Queryable } from "../platform/database/client.ts";
import { type History, type HistoryPage, isCreatedBefore, readHistory } from "../platform/database/history-page.ts";
import { releaseByOperator } from "../policy/standing.ts";
import { type StoredResult, type StoredStep, shownResult, shownStep } from "../transcripts/stored-steps.ts";
import { setSumsOfSteps } from "../transcripts/sum-queries.ts";
import { resultOf, textsOf } from "../transcripts/text-queries.ts";

export type Execution = Output<typeof cancel>;
export type Step = Output<typeof get>["transcript"][number];
type AttemptEvent = Output<typeof get>["history"][number];

type ExecutionFilter = Omit<Input<typeof list>, "subject" | "fields"> & {
  /** Stored subjects; absent: all. */
  readonly subjects?: readonly string[] | undefined;
  /** Includes the members that lists omit. */
  readonly whole?: boolean;
};

/** Why it does not run. Computed when it is shown, because a pause or a free worker changes no row. */
const waitingReason = (sql: Queryable, row: Fragment) => sql`case state
  when 'queued' then coalesce(pause_of(${row}), waiting_for,
    (select b.name || ', which is unavailable until it answers a probe at ' || to_char(b.next_probe_at at time zone 'UTC', 'HH24:MI:SS') || ' UTC: ' || b.reason
      from breakers b where b.key = blocking_key(${row}) and b.probe is distinct from ${row}.id),
    case when offered_to is not null and offered_until > now() then 'the connected agent ' || offered_to end,
    case when run_after > now() and error is not null then 'the next attempt, because the last one failed: ' || error end,
    (select 'execution ' || r.id || ' on the same issue' from task_executions r
      where r.subject = ${row}.subject and r.state = 'running' limit 1),
    'a free worker')
  when 'held' then coalesce(waiting_for, held_reason)
  when 'waiting' then waiting_for end`;

/** When a queued execution may run; null if it waits only for a free worker. */
const nextAttemptAt = (sql: Queryable, row: Fragment) => sql`greatest(case when run_after > now() then run_after end,
    (select b.next_probe_at from breakers b where b.key = blocking_key(${row}) and b.probe is distinct from ${row}.id))`;

const members = (sql: Queryable, of: "" | "e." = "") => sql`
  ${sql.unsafe(`${of}id`)}, task_id, event_id, agent_id, project_id, source, canonical_trigger, subject,
  (select w.title from webhook_events w where w.id = event_id) as subject_title, state, held_reason, held_until, ${waitingReason(sql, of === "" ? sql`task_executions` : sql`e`)} as waiting_for,
  case when state = 'queued' then ${nextAttemptAt(sql, of === "" ? sql`task_executions` : sql`e`)} when state = 'held' then held_until end as next_attempt_at, reason, hop, answers, attempts, result_url, error,
  prompt_tokens, completion_tokens, tool_calls, model, cost_usd, unpriced_tokens, dry_run, created_at, started_at, finished_at, transcript_removed_at,
  (extract(epoch from finished_at - started_at) * 1000)::bigint as duration_ms`;
/** The members that lists show. */
export const shortMembers = (sql: Queryable) => members(sql);
function columns(sql: Queryable, of: "" | "e." = "") {
  const parts = Object.entries(resultOf(sql, of === "" ? "task_executions" : "e"));
  return parts.reduce((all, [name, part]) => sql`${all}, ${part} as ${sql(name)}`, members(sql, of));
}
/** Bytes of the stored result. */
function resultBytes(sql: Queryable): Fragment {
  const { result, packed_result, answer_output, packed_answer } = resultOf(sql, "task_executions");
  return sql`coalesce(octet_length(${result}), octet_length(${packed_result}), octet_length((${answer_output})::text), octet_length(${packed_answer}), 0)`;
}
type Row = Execution & StoredResult;

/** The conditions on the end of an execution, each with a leading `and`. What has ended before a time was created before it. */
export function finishedWithin(
  sql: Queryable,
  { finished_from: from, finished_to: to }: Pick<ExecutionFilter, "finished_from" | "finished_to">,
): Fragment {
  const since = from === undefined ? sql`` : sql`and finished_at >= ${from}::timestamptz`;
  const until = to === undefined ? sql`` : sql`and finished_at < ${to}::timestamptz and ${isCreatedBefore(sql, sql`id`, to)}`;
  return sql`${since} ${until}`;
}

export async function listExecutions(
  sql: Queryable,
  { subjects, whole, ...filter }: ExecutionFilter,
): Promise<HistoryPage<Execution>> {
  const equal = (column: string, value: unknown) => (value === undefined ? sql`` : sql`and ${sql(column)} = ${value as string}`);
  const where = sql`${equal("state", filter.state)} ${equal("task_id", filter.task_id)} ${equal("agent_id", filter.agent_id)}
    ${equal("project_id", filter.project_id)} ${equal("event_id", filter.event_id)} ${finishedWithin(sql, filter)}
    ${subjects ? sql`and subject = any(${subjects as string[]}::text[])` : sql``}`;
  const history: History = {
    table: sql`task_executions`,
    key: sql`id`,
    keyType: "uuid",
    time: sql`created_at`,
    columns: whole ? columns(sql) : members(sql),
    where,
    text: sql`coalesce(error, held_reason)`,
    ...(whole && { bytes: resultBytes(sql) }),
  };
  const page = await readHistory<Row>(sql, history, filter);
  return { ...page, items: page.items.map(shownResult) };
}

export async function findExecution(sql: Queryable, id: string): Promise<Execution | undefined> {
  const [execution] = await sql<Row[]>`select ${columns(sql)} from task_executions where id = ${id}`;
  return execution && shownResult(execution);
}

/** Those of several events, oldest first. */
export const listExecutionsOfEvents = (sql: Queryable, eventIds: readonly string[]): Promise<Execution[]> =>
  sql<Execution[]>`select ${members(sql)} from task_executions where event_id = any(${eventIds as string[]}::uuid[]) order by id`;

/** Keys of the memories in the prompt of an execution. */
export async function listMemories(sql: Queryable, id: string): Promise<string[]> {
  const [row] = await sql<
    { memories: string[] }[]
  >`select coalesce(memories, '{}') as memories from task_executions where id = ${id}`;
  return row?.memories ?? [];
}

export const listAttemptEvents = (sql: Queryable, executionId: string): Promise<AttemptEvent[]> =>
  sql<AttemptEvent[]>`
    select attempts as attempt, substr(event, 11) as event, detail, agent_id, created_at as at
    from execution_history where execution_id = ${executionId} order by created_at, attempts`;

export const stepMembers = (sql: Queryable) => sql`
  seq, kind, state, name, ${textsOf(sql, "execution_steps")}, error, prompt_tokens, completion_tokens, cost_usd, duration_ms, created_at, coalesce(started_at, created_at) as started_at, ended_at`;

export async function listSteps(sql: Queryable, executionId: string): Promise<Step[]> {
  const rows = await sql<StoredStep<Step>[]>`
    select ${stepMembers(sql)} from execution_steps where execution_id = ${executionId} order by seq`;
  return rows.map((row) => shownStep(row, rows));
}

/**
 * Selects executions by their ids, or all on one issue; `reach`: only those that webhooks of this path started; `before`: only those
 * that were created until then. Executions in another state are not changed.
 */
type Selection = { readonly ids: readonly string[] } | OnIssue;
interface OnIssue {
  readonly subjects: readonly string[];
  readonly reach: string | null;
  readonly before: string | null;
}

/** Conditions on the state, one for each partial index. */
const states = {
  open: ["state = 'queued'", "state = 'running'", "state in ('held', 'waiting')"],
  held: ["state = 'held'"],
  heldForIssue: [`state = 'held' and waiting_for is distinct from '${releaseByOperator}'`],
  failed: ["state = 'failed' and transcript_removed_at is null"],
} as const;

/** The number of executions on an issue that webhooks of the path `reach` did not start, and that a command would concern. */
export async function countBeyond(
  sql: Queryable,
  subjects: readonly string[],
  reach: string,
  state: "failed" | "held" | "waiting",
): Promise<number> {
  const [condition] = state === "waiting" ? ["state = 'waiting'"] : state === "held" ? states.heldForIssue : states.failed;
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from task_executions
    where subject = any(${subjects as string[]}::text[]) and slug is distinct from ${reach} and ${sql.unsafe(condition)}`;
  return row.count;
}

const within = (sql: Queryable, reach: string | null) => (reach === null ? sql`true` : sql`slug = ${reach}`);

/** Locks the selected executions in the order of their ids, as every statement does that locks several. */
function selectExecutions(sql: Queryable, of: Selection, conditions: readonly string[]) {
  const which =
    "ids" in of
      ? sql`id = any(${of.ids as string[]}::uuid[])`
      : sql`subject = any(${of.subjects as string[]}::text[]) and ${within(sql, of.reach)}
          and ${of.before === null ? sql`true` : sql`created_at <= ${of.before}`}`;
  const any = conditions.reduce((sum, one) => sql`${sum} or (${which} and ${sql.unsafe(one)})`, sql`false`);
  return sql`select id from task_executions where ${any} order by id for update`;
}

/** Cancels executions that have not ended. `reason`: null for an operator. Publish the ids as `cancel`, then `queue`. */
export async function cancelExecutions(sql: Queryable, of: Selection, reason: string | null): Promise<Execution[]> {
  const rows = await sql<Row[]>`
    with locked as (${selectExecutions(sql, of, states.open)})
    update task_executions e set state = 'cancelled', lease = null, lease_expires_at = null, finished_at = now(), error = null,
      held_reason = null, held_until = null, waiting_for = null, reason = ${reason}, ${setSumsOfSteps(sql)}
    from locked l where e.id = l.id returning ${columns(sql, "e.")}`;
  return rows.map(shownResult);
}

/** Queues held executions. Hourly, daily and monthly budgets do not hold them again. Publish `queue`. */
export async function releaseHeld(sql: Queryable, of: Selection): Promise<Execution[]> {
  const rows = await sql<Row[]>`
    with locked as (${selectExecutions(sql, of, "ids" in of ? states.held : states.heldForIssue)})
    update task_executions e set state = 'queued', run_after = default, released_at = now(), held_reason = null, held_until = null,
      waiting_for = null
    from locked l where e.id = l.id returning ${columns(sql, "e.")}`;
  return rows.map(shownResult);
}

/** The latest failed execution of a task. */
export async function findFailedOfTask(sql: Queryable, taskId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from task_executions where task_id = ${taskId} and state = 'failed' and transcript_removed_at is null order by id desc limit 1`;
  return row?.id;
}

export async function hasExecutionsOfTask(sql: Queryable, taskId: string): Promise<boolean> {
  const rows = await sql`select 1 from task_executions where task_id = ${taskId} limit 1`;
  return rows.length > 0;
}

/** The execution on an issue that failed last, until `before`. */
export async function findFailedOfSubject(sql: Queryable, { subjects, reach, before }: OnIssue): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from task_executions
    where subject = any(${subjects as string[]}::text[]) and ${within(sql, reach)} and state = 'failed' and transcript_removed_at is null
      and ${before === null ? sql`true` : sql`finished_at <= ${before}`}
    order by finished_at desc, id desc limit 1`;
  return row?.id;
}

/** Queues failed executions; each continues after the last step of its transcript. Publish `queue`. */
export async function requeueFailed(sql: Queryable, of: Selection): Promise<Execution[]> {
  const rows = await sql<Row[]>`
    with locked as (${selectExecutions(sql, of, states.failed)}), reopened as (
      -- Its day is summed again.
      update usage_sums set open = open + 1 where day in (
        select (created_at at time zone 'UTC')::date from task_executions where id in (select id from locked))
    )
    update task_executions e set state = 'queued', failures = 0, deaths = 0, death_leases = '{}', run_after = default, error = null,
      finished_at = null
    from locked l where e.id = l.id returning ${columns(sql, "e.")}`;
  return rows.map(shownResult);
}
