import type { SourceEvent, WebhookPayload } from "@signalbox/sdk";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log } from "../platform/log.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import { commandOf, needsStanding } from "./command.ts";
import { extractEvent } from "./extract-event.ts";
import type { MappingRules, PathRule } from "./mapping-rules.ts";
import { callSandboxed, PluginUnavailable } from "./plugin-unavailable.ts";

/** Result of parsing a webhook, for its dispatch. */
interface ParsedWebhook {
  readonly source: string;
  readonly event: SourceEvent;
  /** Triggers that the webhook mappings of its path name. */
  readonly triggers?: readonly string[];
  /** Why it starts nothing. */
  readonly reason?: string;
}

const blank = { delivery_id: null, action: null, subject: null, actor: null, text: "", marked: false, occurred_at: null };
/** The event of a webhook that could not be parsed. */
export const unreadableEvent: SourceEvent = { ...blank, event_name: "", missing_field: null };

/** Parses a webhook of a platform with the source's own `parse`. Throws `PluginUnavailable` unless `last`. */
export async function parseBySource(
  connection: Connection,
  request: WebhookPayload,
  options: { readonly standings: Standings; readonly log: Log; readonly last: boolean },
): Promise<ParsedWebhook> {
  const { event, ...reason } = await parse(connection, request, options);
  return { source: connection.source.name, event: withStanding(event, connection, options.standings), ...reason };
}

/**
 * Adds the author's standing from an earlier look-up, if the payload does not contain it. A decision on proposals needs a recent one:
 * without it, the decision waits for the platform.
 */
function withStanding(event: SourceEvent, connection: Connection, standings: Standings): SourceEvent {
  const { author, subject } = event;
  if (!author || !subject || author.standing !== "unknown") return event;
  const command = commandOf(event);
  const of = command && needsStanding(command, author) ? standings.recent : standings.of;
  const standing = of(connection, subject.project, author);
  return standing === "unknown" ? event : { ...event, author: { ...author, standing } };
}

/**
 * A source that throws for a payload has a defect. The event is stored nevertheless, and can be replayed once the defect is
 * fixed. Throws `PluginUnavailable` if a sandboxed plugin cannot be called now, unless this is the last attempt.
 */
async function parse(
  { source }: Connection,
  request: WebhookPayload,
  { log, last }: { readonly log: Log; readonly last: boolean },
): Promise<{ event: SourceEvent; reason?: string }> {
  const call = () => source.adapter.parse(request);
  try {
    return { event: source.sandboxed ? await callSandboxed(call) : await call() };
  } catch (error) {
    if (error instanceof PluginUnavailable && !(last && error.duringCall)) throw error;
    log.error("plugin failed to parse a payload", { plugin: source.plugin, source: source.name, error });
    return { event: unreadableEvent, reason: `plugin ${source.plugin} failed to parse the payload` };
  }
}

/** Builds the event of a webhook with the first matching mapping of its path. Each matching mapping may name a trigger. */
export async function parseByPath(
  rules: readonly PathRule[],
  body: Uint8Array,
  options: { readonly rules: MappingRules; readonly evaluator: Evaluator },
): Promise<ParsedWebhook> {
  const matching = await options.rules.matching(rules, body);
  const rule = matching[0] ?? (rules[0] as PathRule);
  const { event, ...failure } = await extractEvent(rule, body, options.evaluator);
  const triggers = matching.flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const refusal = matching.length === 0 ? { reason: "no webhook mapping at this path has a filter that matches" } : failure;
  return { source: rule.source, event, triggers, ...refusal };
}
