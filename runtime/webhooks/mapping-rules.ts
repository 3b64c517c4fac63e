import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log } from "../platform/log.ts";
import { compilePath, type PathMatch } from "../platform/path-pattern.ts";
import type { Vault } from "../platform/vault.ts";
import { type AuthCheck, authCheck, type SentRequest } from "../platform/webhook-auth.ts";
import { allWebhookMappings, type StoredMapping } from "../webhook-mappings/queries.ts";

/** A webhook mapping, ready for events. */
export interface MappingRule {
  readonly id: number;
  readonly source: string;
  readonly jq_filter: string | null;
  readonly canonical_trigger: string | null;
  readonly rules: Readonly<Record<string, string>>;
  /** `null`: senders need not prove themselves. Throws a problem where its secret cannot be read. */
  readonly check: AuthCheck | null;
}
/** A mapping of the second shape whose path a webhook came by. */
export interface PathRule extends MappingRule {
  readonly parameters: PathMatch;
}

/** The webhook mappings in memory; with none of them, every answer is an empty list at once. */
export interface MappingRules extends CachedValue {
  /** Mappings of the first shape for an event: its `event_type` is the name, or name and action joined by a dot. */
  concerning(source: string, event: string, action: string | null): readonly MappingRule[];
  /** All of the first shape for a source. */
  ofSource(source: string): readonly MappingRule[];
  /** Mappings of the second shape for a path. */
  atPath(path: string): readonly PathRule[];
  /** Those whose filter matches. A filter that fails is told to the watchdog and does not match. */
  matching<H extends MappingRule>(hooks: readonly H[], body: Uint8Array): Promise<readonly H[]>;
}

export interface MappingRulesOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly evaluator: Evaluator;
  /** Tells the watchdog, as a warning and as an error. */
  readonly warn: (message: string, context: Record<string, unknown>) => void;
  readonly alarm: (message: string, context: Record<string, unknown>) => void;
}

const none: readonly never[] = [];

/** Read once, and again whenever a mapping changes on any replica. */
export async function openMappingRules(options: MappingRulesOptions, sweepMs?: number): Promise<MappingRules> {
  const { sql, bus, log, evaluator, warn } = options;
  const secrets = createSecrets(options);
  let byEvent = new Map<string, MappingRule[]>();
  let byPath: { match: (path: string) => PathMatch | null; hook: MappingRule }[] = [];
  const read = async () => {
    const rows = await allWebhookMappings(sql);
    const hooks = await Promise.all(rows.map(async (row) => ({ row, hook: await toRule(row, secrets) })));
    byEvent = new Map();
    for (const { row, hook } of hooks) {
      if (row.event_type === null) continue;
      const key = keyOf(row.source, row.event_type);
      byEvent.set(key, [...(byEvent.get(key) ?? []), hook]);
    }
    byPath = hooks.flatMap(({ row, hook }) => (row.path_pattern ? [{ match: compilePath(row.path_pattern), hook }] : []));
    if (byPath.length > 0 || rows.some((row) => row.jq_filter !== null)) evaluator.warm();
  };
  const fresh = await openCachedValue({ name: "webhook mappings", topic: "mappings", read, bus, log, sweepMs });
  const matches = async (hook: MappingRule, body: Uint8Array): Promise<boolean> => {
    if (hook.jq_filter === null) return true;
    try {
      return await evaluator.matches(hook.jq_filter, body);
    } catch (error) {
      warn("the filter of a webhook mapping failed on a payload; it does not match", {
        ...{ webhook_mapping: hook.id, source: hook.source },
        error: error instanceof Error ? error.message : String(error),
      });
      return false;
    }
  };
  return {
    ...fresh,
    concerning: (source, event, action) => {
      if (byEvent.size === 0) return none;
      const named = byEvent.get(keyOf(source, event)) ?? none;
      const exact = action === null ? none : (byEvent.get(keyOf(source, `${event}.${action}`)) ?? none);
      return exact.length === 0 ? named : [...named, ...exact].sort((a, b) => a.id - b.id);
    },
    ofSource: (source) => [...byEvent.values()].flat().filter((hook) => hook.source === source),
    atPath: (path) =>
      byPath.flatMap(({ match, hook }) => {
        const parameters = match(path);
        return parameters ? [{ ...hook, parameters }] : [];
      }),
    matching: async (hooks, body) => {
      const results = await Promise.all(hooks.map((hook) => matches(hook, body)));
      return hooks.filter((_, i) => results[i]);
    },
  };
}

const keyOf = (source: string, event: string): string => `${source} ${event}`;

async function toRule(row: StoredMapping, secrets: ReturnType<typeof createSecrets>): Promise<MappingRule> {
  return {
    id: row.id,
    source: row.source,
    jq_filter: row.jq_filter,
    canonical_trigger: row.canonical_trigger,
    rules: row.extraction_rules ?? {},
    check: row.auth.method === "none" ? null : await checkOf(row, secrets),
  };
}

async function checkOf(row: StoredMapping, secrets: ReturnType<typeof createSecrets>): Promise<AuthCheck> {
  const auth = row.auth.method === "hmac_sha256" ? { ...row.auth, prefix: row.auth.prefix ?? "" } : row.auth;
  if (row.secret === null) return authCheck(auth, null);
  const secret = await secrets(row.id, row.secret);
  if (secret !== null) return authCheck(auth, secret);
  return () => {
    throw problem(
      "unavailable",
      "The secret of this webhook cannot be read here, so nothing can be verified; the service's log says why.",
    );
  };
}

/** Decrypts each secret once; one that cannot be decrypted is told to the watchdog once. */
function createSecrets({ vault, alarm }: Pick<MappingRulesOptions, "vault" | "alarm">) {
  const opened = new Map<string, string | null>();
  return async (id: number, sealed: string): Promise<string | null> => {
    const known = opened.get(sealed);
    if (known !== undefined) return known;
    let secret: string | null = null;
    try {
      secret = String(await vault.open(sealed, "webhook_mapping"));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      alarm("the secret of a webhook mapping cannot be decrypted; its webhooks are refused", {
        webhook_mapping: id,
        error: why,
      });
    }
    if (opened.size > 10_000) opened.clear();
    opened.set(sealed, secret);
    return secret;
  };
}

export type Admission<H> = { readonly ok: true; readonly hooks: readonly H[] } | { readonly ok: false; readonly reason: string };

/**
 * The hooks whose proof a webhook brings. Where mappings ask for proofs, one of them at the least must be given: otherwise the
 * webhook is refused, for the first reason.
 */
export function authenticate<H extends MappingRule>(hooks: readonly H[], request: SentRequest): Admission<H> {
  if (hooks.every((hook) => hook.check === null)) return { ok: true, hooks };
  const verdicts = hooks.map((hook) => hook.check?.(request) ?? null);
  const refusal = verdicts.find((verdict) => verdict?.ok === false);
  if (refusal?.ok === false && !verdicts.some((verdict) => verdict?.ok === true)) return refusal;
  return { ok: true, hooks: hooks.filter((_, i) => verdicts[i] === null || verdicts[i]?.ok === true) };
}
