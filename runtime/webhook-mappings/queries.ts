import type { Output } from "@signalbox/schema/operation";
import type { create } from "@signalbox/schema/webhook-mappings";
import type { Queryable } from "../platform/database/client.ts";

export type WebhookMapping = Output<typeof create>;
/** A stored mapping with its encrypted secret. */
export interface StoredMapping extends WebhookMapping {
  readonly secret: string | null;
}
export type NewMapping = Omit<StoredMapping, "id" | "created_at" | "updated_at">;

const shownColumns = (sql: Queryable) => sql`
  id, source, event_type, jq_filter, canonical_trigger, path_pattern, extraction_rules, auth, created_at, updated_at`;

export async function listWebhookMappings(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: WebhookMapping[]; total: number }> {
  const items = await sql<WebhookMapping[]>`
    select ${shownColumns(sql)} from webhook_mappings order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from webhook_mappings`;
  return { items, total: count.total };
}

/** Every mapping with its secret, for routing. */
export const allWebhookMappings = (sql: Queryable): Promise<StoredMapping[]> =>
  sql<StoredMapping[]>`select * from webhook_mappings order by id`;

export async function findWebhookMapping(sql: Queryable, id: number): Promise<StoredMapping | undefined> {
  const [row] = await sql<StoredMapping[]>`select * from webhook_mappings where id = ${id}`;
  return row;
}

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

/** Returns `undefined` if the same mapping exists. */
export async function insertWebhookMapping(sql: Queryable, mapping: NewMapping): Promise<WebhookMapping | undefined> {
  const { source, event_type, jq_filter, canonical_trigger, path_pattern, extraction_rules, auth, secret } = mapping;
  const [row] = await sql<WebhookMapping[]>`
    insert into webhook_mappings (source, event_type, jq_filter, canonical_trigger, path_pattern, extraction_rules, auth, secret)
    values (${source}, ${event_type}, ${jq_filter}, ${canonical_trigger}, ${path_pattern}, ${json(extraction_rules)}::text::jsonb,
      ${json(auth)}::text::jsonb, ${secret})
    on conflict do nothing returning ${shownColumns(sql)}`;
  return row;
}

/** Returns `undefined` if the mapping no longer exists. Throws a unique violation if it would equal another one. */
export async function updateWebhookMapping(sql: Queryable, id: number, mapping: NewMapping): Promise<WebhookMapping | undefined> {
  const { source, event_type, jq_filter, canonical_trigger, path_pattern, extraction_rules, auth, secret } = mapping;
  const [row] = await sql<WebhookMapping[]>`
    update webhook_mappings set source = ${source}, event_type = ${event_type}, jq_filter = ${jq_filter},
      canonical_trigger = ${canonical_trigger}, path_pattern = ${path_pattern},
      extraction_rules = ${json(extraction_rules)}::text::jsonb, auth = ${json(auth)}::text::jsonb, secret = ${secret}, updated_at = now()
    where id = ${id} returning ${shownColumns(sql)}`;
  return row;
}

export async function deleteWebhookMapping(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from webhook_mappings where id = ${id}`).count > 0;
}

/** Whether a webhook mapping creates events of this source. */
export async function hasPathOfSource(sql: Queryable, source: string): Promise<boolean> {
  const [row] = await sql`select 1 from webhook_mappings where source = ${source} and path_pattern is not null limit 1`;
  return row !== undefined;
}

export async function hasMappingOfSource(sql: Queryable, source: string): Promise<boolean> {
  const [row] = await sql`select 1 from webhook_mappings where source = ${source} limit 1`;
  return row !== undefined;
}
