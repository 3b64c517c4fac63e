import type { Queryable, Sql } from "../database/client.ts";

export interface GatewayAgent {
  readonly id: string;
  readonly auth_enabled: boolean;
  readonly auth_secret_hash: string | null;
  readonly trust_level: "default" | "trusted" | "privileged";
}

export async function findGatewayAgent(sql: Queryable, id: string): Promise<GatewayAgent | undefined> {
  const [agent] = await sql<GatewayAgent[]>`select id, auth_enabled, auth_secret_hash, trust_level from agents where id = ${id}`;
  return agent;
}

export async function addCapabilities(sql: Queryable, agentId: string, labels: readonly string[]): Promise<void> {
  await sql`insert into agent_capabilities (agent_id, capability) select ${agentId}, label from unnest(${labels as string[]}::text[]) label
    on conflict do nothing`;
}

export interface NewSession {
  readonly id_hash: string;
  readonly agent_id: string;
  readonly secret_hash: string | null;
  readonly client_version: string | null;
}

/** Opens a session; of sessions that are over it leaves none behind. */
export async function insertSession(sql: Queryable, session: NewSession, seconds: number): Promise<string> {
  await sql`delete from agent_sessions where expires_at < now()`;
  const [row] = await sql<[{ expires_at: string }]>`
    insert into agent_sessions ${sql({ ...session, expires_at: new Date(Date.now() + seconds * 1000).toISOString() })} returning expires_at`;
  return row.expires_at;
}

export interface Session {
  readonly id_hash: string;
  readonly agent_id: string;
  readonly trust_level: GatewayAgent["trust_level"];
  readonly expires_at: string;
}

/** A session that is not over, and whose agent has the secret that it had at the registration. */
export async function findSession(sql: Queryable, idHash: string): Promise<Session | undefined> {
  const [session] = await sql<Session[]>`
    select s.id_hash, s.agent_id, a.trust_level, s.expires_at from agent_sessions s join agents a on a.id = s.agent_id
    where s.id_hash = ${idHash} and s.expires_at > now() and s.secret_hash is not distinct from (case when a.auth_enabled then a.auth_secret_hash end)`;
  return session;
}

export async function renewSession(sql: Queryable, idHash: string, seconds: number): Promise<string | undefined> {
  const [row] = await sql<{ expires_at: string }[]>`
    update agent_sessions set expires_at = now() + make_interval(secs => ${seconds}) where id_hash = ${idHash} returning expires_at`;
  return row?.expires_at;
}

export async function insertStream(
  sql: Queryable,
  stream: { id: string; agent_id: string; session_hash: string },
  seconds: number,
): Promise<void> {
  await sql`delete from agent_streams where expires_at < now()`;
  await sql`insert into agent_streams ${sql({ ...stream, expires_at: new Date(Date.now() + seconds * 1000).toISOString() })}`;
}

export async function renewStream(sql: Queryable, id: string, seconds: number): Promise<boolean> {
  return (await sql`update agent_streams set expires_at = now() + make_interval(secs => ${seconds}) where id = ${id}`).count > 0;
}

/** Agents that have an open stream on any replica. */
export async function connectedAgents(sql: Queryable): Promise<Set<string>> {
  const rows = await sql<{ agent_id: string }[]>`select distinct agent_id from agent_streams where expires_at > now()`;
  return new Set(rows.map((row) => row.agent_id));
}

export interface HandedOver {
  readonly id: string;
  readonly task_id: string;
  readonly canonical_trigger: string;
  readonly project_id: number | null;
  readonly lease_expires_at: string;
  readonly plan: { readonly messages: readonly { readonly role: string; readonly content: string }[] };
  readonly task_name: string | null;
}

/** Takes executions that are offered to an agent, for one of its streams. Their plan is the first step of the transcript. */
export const takeOffered = (
  sql: Sql,
  agentId: string,
  streamId: string,
  limit: number,
  leaseSeconds: number,
): Promise<HandedOver[]> =>
  sql<HandedOver[]>`
    with due as (
      select x.id from task_executions x
      where x.state = 'queued' and x.offered_to = ${agentId} and x.offered_until > now()
        and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running')
      order by x.created_at, x.id limit ${limit} for update skip locked
    )
    update task_executions e
    set state = 'running', attempts = e.attempts + 1, handovers = e.handovers + 1, stream_id = ${streamId}, offered_to = null, offered_until = null,
      lease = 'stream:' || ${streamId} || ':' || (e.attempts + 1), lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    from due where e.id = due.id
    returning e.id, e.task_id, e.canonical_trigger, e.project_id, e.lease_expires_at,
      (select s.input from execution_steps s where s.execution_id = e.id and s.seq = 0) as plan,
      (select t.name from tasks t where t.id = e.task_id) as task_name`;

/** Gives back what a stream held; the LLM or another stream takes it up. */
export async function releaseStream(sql: Queryable, streamId: string): Promise<number> {
  const released = await sql`
    update task_executions set state = 'queued', run_after = now(), lease = null, lease_expires_at = null, stream_id = null
    where state = 'running' and stream_id = ${streamId}`;
  await sql`delete from agent_streams where id = ${streamId}`;
  return released.count;
}

/** Keeps the tasks of all streams of a session. */
export const renewTasks = (sql: Queryable, sessionHash: string, leaseSeconds: number): Promise<unknown> =>
  sql`update task_executions set lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    where state = 'running' and stream_id in (select id from agent_streams where session_hash = ${sessionHash})`;

export interface HeldTask {
  readonly id: string;
  readonly lease: string;
  readonly failures: number;
}

/** An execution that a stream of this session holds. */
export async function findHeld(sql: Queryable, sessionHash: string, executionId: string): Promise<HeldTask | undefined> {
  const [task] = await sql<HeldTask[]>`
    select id, lease, failures from task_executions
    where id = ${executionId} and state = 'running' and stream_id in (select id from agent_streams where session_hash = ${sessionHash})`;
  return task;
}

export const countOfStream = async (sql: Queryable, streamId: string): Promise<number> => {
  const [row] = await sql<
    [{ held: number }]
  >`select count(*) as held from task_executions where state = 'running' and stream_id = ${streamId}`;
  return row.held;
};
