import type { Queryable } from "../platform/database/client.ts";

/** Larger payloads are not searched for names; bytes. */
const largestPayload = 4_000_000;

/** The payload of an event, as JSON; `null` if it is not stored or too large. */
const payloadOf = (sql: Queryable, eventId: string) => sql`
  (select case when octet_length(w.body) <= ${largestPayload} then convert_from(w.body, 'UTF8')::json end as p
    from webhook_events w where w.id = ${eventId})`;

/** Other names of the project of an event, from its payload. */
export async function projectNames(sql: Queryable, eventId: string): Promise<string[]> {
  const [row] = await sql<{ names: (string | null)[] }[]>`
    select array[p #>> '{project,id}', p #>> '{project,path_with_namespace}', p #>> '{repository,id}', p #>> '{repository,full_name}',
      p #>> '{issue,fields,project,id}', p #>> '{issue,fields,project,key}', p #>> '{data,project}', p #>> '{data,project_id}',
      p #>> '{data,project_detail,id}', p #>> '{data,project_detail,identifier}'] as names
    from ${payloadOf(sql, eventId)} x`;
  return (row?.names ?? []).filter((name) => name !== null && name !== "") as string[];
}

/** Logins of those who take part in the issue of an event: its author, assignees and commenter, and who caused earlier events. */
export async function participantsOf(sql: Queryable, eventId: string): Promise<string[]> {
  const rows = await sql<{ name: string | null }[]>`
    with event as (select id, subject from webhook_events where id = ${eventId}), x as (select * from ${payloadOf(sql, eventId)} y)
    select unnest(array[p #>> '{issue,user,login}', p #>> '{pull_request,user,login}', p #>> '{comment,user,login}', p #>> '{review,user,login}',
      p #>> '{sender,login}', p #>> '{user,username}', p #>> '{issue,assignee,login}', p #>> '{assignees,0,username}',
      p #>> '{assignees,1,username}', p #>> '{assignees,2,username}', p #>> '{issue,assignees,0,login}', p #>> '{issue,assignees,1,login}',
      p #>> '{issue,assignees,2,login}', p #>> '{pull_request,assignees,0,login}', p #>> '{issue,fields,reporter,name}',
      p #>> '{issue,fields,reporter,displayName}', p #>> '{issue,fields,assignee,name}', p #>> '{comment,author,name}',
      p #>> '{comment,author,displayName}', p #>> '{user,accountId}', p #>> '{comment,author,accountId}',
      p #>> '{issue,fields,reporter,accountId}', p #>> '{issue,fields,assignee,accountId}', p #>> '{data,actor_detail,display_name}', p #>> '{activity,actor,display_name}']) as name
    from x
    union
    select w.author ->> 'name' from webhook_events w join event e on w.subject = e.subject
    where coalesce(w.author ->> 'kind', 'unknown') not in ('bot', 'app')`;
  return rows.flatMap(({ name }) => (name ? [name] : []));
}
