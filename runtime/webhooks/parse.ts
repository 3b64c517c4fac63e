import type { SourceEvent, WebhookPayload, WebhookRequest } from "@signalbox/sdk";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log } from "../platform/log.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import { commandOf, needsStanding } from "./command.ts";
import { extractEvent } from "./extract-event.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import type { MappingRules, PathRule } from "./mapping-rules.ts";
import { callSandboxed, PluginUnavailable } from "./plugin-unavailable.ts";
import type { Entry } from "./received-webhook.ts";
import { type ReplyDeps, repliesTo } from "./replies.ts";

export interface ParseDeps extends ReplyDeps {
  readonly accounts: Accounts;
  readonly rules: MappingRules;
  readonly evaluator: Evaluator;
  readonly log: Log;
}

interface ParsedEvent extends Pick<IncomingEvent, "source" | "event" | "reason" | "triggers"> {
  /** The webhook mappings of its path whose filter matches. */
  readonly matchingAtPath?: readonly PathRule[];
}
type ParsedWebhook = ParsedEvent &
  Pick<IncomingEvent, "viaPath" | "accounts" | "acknowledge" | "canFindStanding" | "canFindName">;

/**
 * Parses a webhook, by its source or by the mappings of its path, for its dispatch or its explanation. Throws `PluginUnavailable`
 * unless `last`.
 */
export async function parseWebhook(
  entry: Entry,
  { headers, payload, body }: WebhookPayload & Pick<WebhookRequest, "body">,
  last: boolean,
  deps: ParseDeps,
): Promise<ParsedWebhook> {
  const parsed =
    entry.kind === "path"
      ? await parseByPath(entry.rules, body, deps)
      : await parseBySource(entry.connection, { headers, payload }, { ...deps, last });
  const { source, event } = parsed;
  return {
    ...parsed,
    viaPath: entry.kind === "path",
    accounts: event.actor === null ? [] : await deps.accounts.ofSource(source),
    ...(entry.kind === "connection" && repliesTo(event, entry.connection, deps)),
  };
}

const blank = { delivery_id: null, action: null, subject: null, actor: null, text: "", marked: false, occurred_at: null };
/** The event of a webhook that could not be parsed. */
export const unreadableEvent: SourceEvent = { ...blank, event_name: "", missing_field: null };

/** Parses a webhook of a platform with the source's own `parse`. Throws `PluginUnavailable` unless `last`. */
async function parseBySource(
  connection: Connection,
  request: WebhookPayload,
  options: Pick<ParseDeps, "standings" | "log"> & { readonly last: boolean },
): Promise<ParsedEvent> {
  const { event, ...reason } = await parse(connection, request, options);
  return { source: connection.source.name, event: withStanding(event, connection, options.standings), ...reason };
}

/**
 * Adds the author's standing from an earlier look-up, if the payload does not contain it. A decision on proposals needs a recent one:
 * without it, the decision waits for the platform.
 */
function withStanding(event: SourceEvent, connection: Connection, standings: ParseDeps["standings"]): SourceEvent {
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
async function parseByPath(
  rules: readonly PathRule[],
  body: Uint8Array,
  deps: Pick<ParseDeps, "rules" | "evaluator">,
): Promise<ParsedEvent> {
  const matchingAtPath = await deps.rules.matching(rules, body);
  const rule = matchingAtPath[0] ?? (rules[0] as PathRule);
  const { event, ...failure } = await extractEvent(rule, body, deps.evaluator);
  const triggers = matchingAtPath.flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const refusal = matchingAtPath.length === 0 ? { reason: "no webhook mapping at this path has a filter that matches" } : failure;
  return { source: rule.source, event, triggers, matchingAtPath, ...refusal };
}
