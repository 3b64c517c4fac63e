import { fieldProblem, problem } from "@signalbox/schema/problem";
import * as sources from "@signalbox/schema/sources";
import type { WebhookReport } from "@signalbox/sdk";
import { allSourceMappings } from "../mappings/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { toFailure } from "../platform/remote-calls.ts";
import type { Connection, Connections } from "../plugins/connections.ts";
import { allWebhookMappings } from "../webhook-mappings/queries.ts";

export interface SourceDeps {
  readonly connections: Pick<Connections, "bySlug">;
  /** `PUBLIC_URL`, if it is set. */
  readonly publicUrl: string | undefined;
}

/** Maximum duration of a check of a platform's webhook, in milliseconds. */
const checkMs = 60_000;

export const sourceOperations = ({ connections, publicUrl }: SourceDeps): BoundOperation[] => [
  handle(sources.check, async ({ source, integration_id, ...input }, { sql, signal }) => {
    const slug = integration_id ?? source;
    const connection = await connections.bySlug(slug);
    if (connection?.source.name !== source) throw problem("not_found", absence(source, integration_id));
    const url = input.url ?? (publicUrl && `${publicUrl.replace(/\/+$/, "")}/webhook/${slug}`);
    if (!url) throw fieldProblem("url", "is required, because PUBLIC_URL is not set");
    const { project = null, apply } = input;
    const events = await mappedEvents(sql, source);
    const report = await ask(connection, { project, url, events, apply }, signal);
    const ok = report.id !== null && report.active && report.missing.length + report.unknown.length === 0;
    return { source, url, ok, ...copyOf(report) };
  }),
];

const absence = (source: string, integration: string | undefined): string =>
  integration === undefined
    ? `There is no source "${source}".`
    : `There is no integration ${integration} of the source "${source}".`;

const copyOf = ({ id, active, configured, missing, unknown, changed, notes }: WebhookReport) => ({
  id,
  active,
  configured: [...configured],
  missing: [...missing],
  unknown: [...unknown],
  changed,
  notes: [...notes],
});

/** Every event that the mappings of the source name, once. */
async function mappedEvents(sql: Sql, source: string) {
  const [mappings, webhookMappings] = await Promise.all([allSourceMappings(sql), allWebhookMappings(sql)]);
  const named = [
    ...mappings.filter((one) => one.source === source).map(({ event_name, action }) => ({ event_name, action })),
    ...webhookMappings.flatMap((one) =>
      one.source === source && one.event_type !== null ? [{ event_name: one.event_type, action: null }] : [],
    ),
  ];
  return [...new Map(named.map((one) => [JSON.stringify(one), one])).values()];
}

async function ask(
  { source, settings, missingSettings }: Connection,
  wanted: Parameters<NonNullable<typeof source.adapter.checkWebhook>>[0],
  signal: AbortSignal,
): Promise<WebhookReport> {
  const { checkWebhook } = source.adapter;
  if (!checkWebhook) throw fieldProblem("source", `the plugin of "${source.name}" cannot check webhooks`);
  if (missingSettings.length > 0)
    throw problem("unavailable", `The source "${source.name}" is not configured: missing ${missingSettings.join(", ")}.`);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(checkMs)]);
  try {
    return await checkWebhook.call(source.adapter, wanted, { signal: limit, connection: settings, key: newId() });
  } catch (error) {
    signal.throwIfAborted();
    const text = storableText(toFailure(error).message.slice(0, 2000));
    if ((error as { code?: unknown } | null)?.code === "invalid_input") throw problem("bad_request", text, { cause: error });
    throw problem("bad_gateway", `The webhook of ${source.name} could not be checked: ${text}`, { cause: error });
  }
}
