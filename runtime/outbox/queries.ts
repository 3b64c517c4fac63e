import type { Queryable } from "../platform/database/client.ts";
import { unpack } from "../platform/packing/packed.ts";

/** Larger payloads are not searched for names; bytes. */
const maxPayloadBytes = 4_000_000;

/** The payload of an event; `null` if it is not stored or too large. */
export async function payloadOf(sql: Queryable, eventId: string): Promise<unknown> {
  const [row] = await sql<{ body: Uint8Array }[]>`
    select body from webhook_events where id = ${eventId} and octet_length(body) between 1 and ${maxPayloadBytes}`;
  return row ? JSON.parse(Buffer.from(unpack(row.body)).toString()) : null;
}

/** Names of those who caused the events of the subject of an event, except bots. */
export async function authorsOfSubject(sql: Queryable, eventId: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct w.author ->> 'name' as name from webhook_events w
    where w.subject = (select e.subject from webhook_events e where e.id = ${eventId})
      and coalesce(w.author ->> 'kind', 'unknown') not in ('bot', 'app') and w.author ->> 'name' <> ''`;
  return rows.map(({ name }) => name);
}
