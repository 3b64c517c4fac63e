import { asyncCommit } from "../platform/database/async-commit.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { readable, readPacked } from "../transcripts/stored-steps.ts";

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
  /** Hash of the agent's secret, if the secret opened the session. */
  readonly secret_hash: string | null;
  /** SHA-256 of the API key, in hexadecimal, if a key opened the session. */
  readonly key_hash: string | null;
  readonly client_version: string | null;
}

/** Opens a session and deletes expired ones. */
export async function insertSession(sql: Queryable, session: NewSession, seconds: number): Promise<string> {
  const { id_hash, agent_id, secret_hash, key_hash, client_version } = session;
  await sql`delete from agent_sessions where expires_at < now()`;
  const [row] = await sql<[{ expires_at: string }]>`
    insert into agent_sessions (id_hash, agent_id, secret_hash, key_hash, client_version, expires_at) values (${id_hash},
      ${agent_id}, ${secret_hash}, ${key_hash}, ${client_version}, now() + make_interval(secs => ${seconds})) returning expires_at`;
  return row.expires_at;
}

export interface Session {
  readonly id_hash: string;
  readonly agent_id: string;
  readonly trust_level: GatewayAgent["trust_level"];
  readonly expires_at: string;
}

/** SHA-256 of each key of `API_KEYS`, in hexadecimal. */
export type ConfiguredKeys = readonly string[];

/**
 * Condition that a session `s` of the agent `a` has not expired, and that its proof is still valid. A proof is an API key in use,
 * or the agent's secret. Without a proof, a session is valid only while there are no API keys and the agent needs no secret.
 */
const isValid = (sql: Queryable, keys: ConfiguredKeys) => sql`
  s.expires_at > now() and case
    when s.key_hash is not null then s.key_hash = any(${keys as string[]}::text[]) or exists (
      select 1 from api_keys k where k.key_hash = decode(s.key_hash, 'hex') and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now()))
    when s.secret_hash is not null then s.secret_hash = a.auth_secret_hash
    else not a.auth_enabled and ${keys.length === 0} and not exists (select 1 from api_keys)
  end`;

export async function findSession(sql: Queryable, idHash: string, keys: ConfiguredKeys): Promise<Session | undefined> {
  const [session] = await sql<Session[]>`
    select s.id_hash, s.agent_id, a.trust_level, s.expires_at from agent_sessions s join agents a on a.id = s.agent_id
    where s.id_hash = ${idHash} and ${isValid(sql, keys)}`;
  return session;
}

/** Renews a session and the leases of its open streams. Returns its expiry, and all tasks whose results `findLeased` accepts. */
export async function renew(
  sql: Queryable,
  idHash: string,
  { sessionSeconds, leaseSeconds }: { sessionSeconds: number; leaseSeconds: number },
): Promise<{ readonly expires_at: string; readonly execution_ids: string[] } | undefined> {
  const [row] = await sql<{ expires_at: string; execution_ids: string[] }[]>`
    with renewed as (
      update agent_sessions set expires_at = now() + make_interval(secs => ${sessionSeconds})
      where id_hash = ${idHash} and ${asyncCommit(sql)} returning expires_at
    ), leased as (
      select e.id, s.expires_at > now() as is_open from task_executions e join agent_streams s on s.id = e.stream_id
      where e.state = 'running' and s.session_hash = ${idHash} order by e.id for update of e
    ), kept as (
      update task_executions e set lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
      from leased where e.id = leased.id and leased.is_open
    )
    select expires_at, array(select id::text from leased) as execution_ids from renewed`;
  return row;
}

type NewStream = Record<"id" | "agent_id" | "session_hash", string>;
export async function insertStream(sql: Queryable, { id, agent_id, session_hash }: NewStream, seconds: number): Promise<void> {
  await sql`delete from agent_streams where expires_at < now()`;
  await sql`insert into agent_streams (id, agent_id, session_hash, expires_at)
    values (${id}, ${agent_id}, ${session_hash}, now() + make_interval(secs => ${seconds}))`;
}

/** Renews the streams that still exist and whose sessions are valid. Returns their ids. */
export async function renewStreams(
  sql: Queryable,
  { ids, seconds, keys }: { ids: readonly string[]; seconds: number; keys: ConfiguredKeys },
): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    update agent_streams t set expires_at = now() + make_interval(secs => ${seconds})
    from agent_sessions s join agents a on a.id = s.agent_id
    where t.id = any(${ids as string[]}::uuid[]) and s.id_hash = t.session_hash and ${isValid(sql, keys)} and ${asyncCommit(sql)}
    returning t.id`;
  return new Set(rows.map((row) => row.id));
}

/** Agents that have an open stream on any replica. */
export async function connectedAgents(sql: Queryable): Promise<Set<string>> {
  const rows = await sql<{ agent_id: string }[]>`select distinct agent_id from agent_streams where expires_at > now()`;
  return new Set(rows.map((row) => row.agent_id));
}

export interface AssignedExecution {
  readonly id: string;
  readonly stream_id: string;
  readonly task_id: string;
  readonly canonical_trigger: string;
  readonly project_id: number | null;
  readonly lease_expires_at: string;
  readonly plan: { readonly messages: readonly { readonly role: string; readonly content: string }[] };
  readonly task_name: string | null;
}

/**
 * Takes executions that are offered to an agent, the oldest first, one for each of `slots`: ids of its streams. A stream
 * whose session is no longer valid gets none. The plan is the first step of the transcript. An execution whose plan cannot be read
 * goes back to the queue without an offer: the worker that claims it records why it fails.
 */
export async function claimOffered(
  sql: Sql,
  agentId: string,
  { slots, leaseSeconds, keys }: { slots: readonly string[]; leaseSeconds: number; keys: ConfiguredKeys },
): Promise<AssignedExecution[]> {
  const rows = await sql<(Omit<AssignedExecution, "plan"> & { input: unknown; packed: Uint8Array | null })[]>`
    with slot as (
      select t.id as stream_id, row_number() over (order by g.n) as n
      from unnest(${slots as string[]}::uuid[]) with ordinality g (id, n)
      join agent_streams t on t.id = g.id join agent_sessions s on s.id_hash = t.session_hash join agents a on a.id = s.agent_id
      where ${isValid(sql, keys)}
    ), due as (
      select x.id, x.created_at from task_executions x
      where x.state = 'queued' and x.offered_to = ${agentId} and x.offered_until > now()
        and (not exists (select from pauses) or pause_of(x) is null)
        and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running')
        and not exists (
          select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.offered_to = x.offered_to
            and (o.created_at, o.id) < (x.created_at, x.id))
      order by x.created_at, x.id limit (select count(*) from slot) for update skip locked
    ), given as (
      select d.id, slot.stream_id from (select id, row_number() over (order by created_at, id) as n from due) d join slot using (n)
    )
    update task_executions e
    set state = 'running', attempts = e.attempts + 1, handovers = e.handovers + 1, stream_id = given.stream_id,
      offered_to = null, offered_until = null,
      lease = 'stream:' || given.stream_id || ':' || (e.attempts + 1), lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    from given where e.id = given.id
    returning e.id, e.stream_id, e.task_id, e.canonical_trigger, e.project_id, e.lease_expires_at,
      (select s.input from execution_steps s where s.execution_id = e.id and s.seq = 0) as input,
      (select s.packed from execution_steps s where s.execution_id = e.id and s.seq = 0) as packed,
      (select t.name from tasks t where t.id = e.task_id) as task_name`;
  const read = rows.map(({ input, packed, ...row }) => {
    const { value, unreadable } = readable("input", () => readPacked(packed, input) as AssignedExecution["plan"]);
    return unreadable === undefined ? { ...row, plan: value as AssignedExecution["plan"] } : row;
  });
  const damaged = read.flatMap((row) => ("plan" in row ? [] : row.id));
  if (damaged.length > 0)
    await sql`
      update task_executions set state = 'queued', run_after = default, lease = null, lease_expires_at = null, stream_id = null
      where id in (select id from task_executions where id = any(${damaged}::uuid[]) and state = 'running' order by id for update)`;
  return read.filter((row) => "plan" in row);
}

/** Extends the offers to connected agents, even if these are busy. */
export const extendOffers = (sql: Queryable, agentIds: readonly string[], seconds: number): Promise<unknown> =>
  sql`update task_executions set offered_until = now() + make_interval(secs => ${seconds})
    where id in (
      select id from task_executions
      where state = 'queued' and offered_to = any(${agentIds as string[]}::text[]) and offered_until > now()
      order by id for update) and ${asyncCommit(sql)}`;

/** Deletes a stream and requeues the tasks that it had leased. If it was the agent's last stream, offers to the agent end, too. */
export async function releaseStream(sql: Sql, streamId: string, agentId: string): Promise<boolean> {
  const released = await sql`
    update task_executions set state = 'queued', run_after = default, lease = null, lease_expires_at = null, stream_id = null
    where id in (select id from task_executions where state = 'running' and stream_id = ${streamId} order by id for update)`;
  await sql`delete from agent_streams where id = ${streamId}`;
  const withdrawnOffers = await sql`
    update task_executions set offered_until = now()
    where id in (
      select id from task_executions where state = 'queued' and offered_to = ${agentId} and offered_until > now()
        and not exists (select 1 from agent_streams where agent_id = ${agentId} and expires_at > now())
      order by id for update)`;
  return released.count + withdrawnOffers.count > 0;
}

export interface LeasedTask {
  readonly id: string;
  readonly task_id: string;
  readonly lease: string;
  readonly failures: number;
  readonly project_id: number | null;
  readonly subject: string | null;
}

/** An execution that a stream of this session has leased. */
export async function findLeased(sql: Queryable, sessionHash: string, executionId: string): Promise<LeasedTask | undefined> {
  const [task] = await sql<LeasedTask[]>`
    select id, task_id, lease, failures, project_id, subject from task_executions
    where id = ${executionId} and state = 'running' and stream_id in (select id from agent_streams where session_hash = ${sessionHash})`;
  return task;
}

/** Whether an execution was cancelled while a stream of this session held it. */
export const wasCancelled = async (sql: Queryable, sessionHash: string, id: string): Promise<boolean> =>
  (
    await sql`select 1 from task_executions where id = ${id} and state = 'cancelled'
      and stream_id in (select id from agent_streams where session_hash = ${sessionHash})`
  ).length > 0;

/** Ids of the executions that any of these streams has leased. */
export async function listLeasedBy(sql: Queryable, streamIds: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from task_executions where state = 'running' and stream_id = any(${streamIds as string[]}::uuid[])`;
  return new Set(rows.map((row) => row.id));
}

/** Records that an agent wrote a memory, and deletes the records of expired memories. */
export async function insertMemoryAuthor(
  sql: Queryable,
  { id, agent_id, ttl_seconds }: { id: string; agent_id: string; ttl_seconds: number | undefined },
): Promise<void> {
  await sql`
    with expired as (delete from memory_authors where expires_at < now())
    insert into memory_authors (memory_id, agent_id, expires_at)
    values (${id}, ${agent_id}, now() + make_interval(secs => ${ttl_seconds ?? null}::int)) on conflict do nothing`;
}

export async function isMemoryAuthor(sql: Queryable, id: string, agentId: string): Promise<boolean> {
  return (await sql`select 1 from memory_authors where memory_id = ${id} and agent_id = ${agentId}`).length > 0;
}

export async function deleteMemoryAuthor(sql: Queryable, id: string): Promise<void> {
  await sql`delete from memory_authors where memory_id = ${id}`;
}
