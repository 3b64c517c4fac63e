import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log, Report } from "../platform/log.ts";
import { compilePath, type PathMatch } from "../platform/path-pattern.ts";
import type { Vault } from "../platform/vault.ts";
import { type AuthCheck, authCheck, type SentRequest } from "../platform/webhook-auth.ts";
import { allWebhookMappings, type StoredMapping } from "../webhook-mappings/queries.ts";

/** A webhook mapping, ready to be applied to events. */
export interface MappingRule {
  readonly id: number;
  readonly source: string;
  readonly jq_filter: string | null;
  readonly canonical_trigger: string | null;
  readonly rules: Readonly<Record<string, string>>;
  /** `null` if senders do not authenticate. Throws a problem if the secret cannot be decrypted. */
  readonly check: AuthCheck | null;
  /** Header that contains the credential; never stored. */
  readonly authHeader: string | null;
  /** Secret or token of the check, if it has one. */
  readonly secret: string | null;
}
/** A mapping by path whose pattern matches the path of a webhook. */
export interface PathRule extends MappingRule {
  readonly parameters: PathMatch;
}

/** The webhook mappings, in memory. A mapping names an event or a path pattern. */
export interface MappingRules extends CachedValue {
  /** Mappings for an event: their `event_type` is its name, or its name and action joined by a dot. */
  rulesFor(source: string, event: string, action: string | null): readonly MappingRule[];
  /** All mappings of a source that name an event. */
  ofSource(source: string): readonly MappingRule[];
  /** Names of the sources that have mappings, including those without a plugin. */
  sources(): readonly string[];
  /** Mappings of a source with a path pattern. Their parameters are empty, because these depend on a path. */
  byPathOf(source: string): readonly PathRule[];
  /** Mappings whose path pattern matches. */
  atPath(path: string): readonly PathRule[];
  /** The rules whose filter matches. A filter that fails does not match and is reported to the watchdog. */
  matching<R extends MappingRule>(rules: readonly R[], body: Uint8Array): Promise<readonly R[]>;
}

interface MappingRulesOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly evaluator: Evaluator;
  /** Writes to the watchdog: a warning, and an error. */
  readonly warn: Report;
  readonly alarm: Report;
}

const noRules: readonly never[] = [];

/** Reads the mappings once, and again whenever one changes on any replica. */
export async function openMappingRules(options: MappingRulesOptions): Promise<MappingRules> {
  const { sql, bus, log, evaluator, warn } = options;
  const secrets = createSecrets(options);
  let byEvent = new Map<string, MappingRule[]>();
  let byPath: { match: (path: string) => PathMatch | null; rule: MappingRule }[] = [];
  const read = async () => {
    const rows = await allWebhookMappings(sql);
    const entries = await Promise.all(rows.map(async (row) => ({ row, rule: await toRule(row, secrets) })));
    byEvent = new Map();
    for (const { row, rule } of entries) {
      if (row.event_type === null) continue;
      const key = keyOf(row.source, row.event_type);
      byEvent.set(key, [...(byEvent.get(key) ?? []), rule]);
    }
    byPath = entries.flatMap(({ row, rule }) => (row.path_pattern ? [{ match: compilePath(row.path_pattern), rule }] : []));
    if (byPath.length > 0 || rows.some((row) => row.jq_filter !== null)) evaluator.warm();
  };
  const cached = await openCachedValue({ name: "webhook mappings", topic: "mappings", read, bus, log });
  const matches = async (rule: MappingRule, body: Uint8Array): Promise<boolean> => {
    if (rule.jq_filter === null) return true;
    try {
      return await evaluator.matches(rule.jq_filter, body);
    } catch (error) {
      warn("the filter of a webhook mapping failed on a payload, so it does not match", {
        webhook_mapping: rule.id,
        source: rule.source,
        error: messageOf(error),
      });
      return false;
    }
  };
  return {
    ...cached,
    rulesFor: (source, event, action) => {
      if (byEvent.size === 0) return noRules;
      const named = byEvent.get(keyOf(source, event)) ?? noRules;
      const exact = action === null ? noRules : (byEvent.get(keyOf(source, `${event}.${action}`)) ?? noRules);
      return exact.length === 0 ? named : [...named, ...exact].sort((a, b) => a.id - b.id);
    },
    ofSource: (source) => [...byEvent.values()].flat().filter((rule) => rule.source === source),
    sources: () => [...new Set([...[...byEvent.values()].flat(), ...byPath.map(({ rule }) => rule)].map(({ source }) => source))],
    byPathOf: (source) => byPath.flatMap(({ rule }) => (rule.source === source ? [{ ...rule, parameters: {} }] : [])),
    atPath: (path) =>
      byPath.flatMap(({ match, rule }) => {
        const parameters = match(path);
        return parameters ? [{ ...rule, parameters }] : [];
      }),
    matching: async (rules, body) => {
      const results = await Promise.all(rules.map((rule) => matches(rule, body)));
      return rules.filter((_, i) => results[i]);
    },
  };
}

const keyOf = (source: string, event: string): string => `${source} ${event}`;

async function toRule(row: StoredMapping, secrets: ReturnType<typeof createSecrets>): Promise<MappingRule> {
  const secret = row.secret === null ? null : await secrets(row.id, row.secret);
  return {
    id: row.id,
    source: row.source,
    jq_filter: row.jq_filter,
    canonical_trigger: row.canonical_trigger,
    rules: row.extraction_rules ?? {},
    check: row.auth.method === "none" ? null : checkOf(row, secret),
    secret,
    authHeader: "header" in row.auth ? row.auth.header.toLowerCase() : null,
  };
}

/** `secret`: `null` if the mapping has none, or if it cannot be decrypted. */
function checkOf(row: StoredMapping, secret: string | null): AuthCheck {
  if (row.secret === null || secret !== null) return authCheck(row.auth, secret);
  return () => {
    throw problem(
      "unavailable",
      "The secret of this webhook cannot be decrypted, so its requests cannot be verified. See the service's log.",
    );
  };
}

/** Decrypts each secret once, and reports it once if that fails. */
function createSecrets({ vault, alarm }: Pick<MappingRulesOptions, "vault" | "alarm">) {
  const openedSecrets = new Map<string, string | null>();
  return async (id: number, sealed: string): Promise<string | null> => {
    const known = openedSecrets.get(sealed);
    if (known !== undefined) return known;
    let secret: string | null = null;
    try {
      secret = String(await vault.open(sealed, "webhook_mapping"));
    } catch (error) {
      alarm("the secret of a webhook mapping cannot be decrypted, so its webhooks are refused", {
        webhook_mapping: id,
        error: messageOf(error),
      });
    }
    if (openedSecrets.size > 10_000) openedSecrets.clear();
    openedSecrets.set(sealed, secret);
    return secret;
  };
}

type RuleAuthentication<R> =
  | { readonly ok: true; readonly rules: readonly R[] }
  | { readonly ok: false; readonly reason: string };

/**
 * The rules for which a webhook authenticates. If rules require authentication, at least one must succeed;
 * otherwise the webhook is refused for the first reason.
 */
export function authenticate<R extends MappingRule>(rules: readonly R[], request: SentRequest): RuleAuthentication<R> {
  if (rules.every((rule) => rule.check === null)) return { ok: true, rules };
  const verdicts = rules.map((rule) => rule.check?.(request) ?? null);
  const refusal = verdicts.find((verdict) => verdict?.ok === false);
  if (refusal?.ok === false && !verdicts.some((verdict) => verdict?.ok === true)) return refusal;
  return { ok: true, rules: rules.filter((_, i) => verdicts[i] === null || verdicts[i]?.ok === true) };
}
