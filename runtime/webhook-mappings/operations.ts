import { sources } from "@signalbox/schema/common";
import type { Input } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import * as mappings from "@signalbox/schema/webhook-mappings";
import type { Bus } from "../platform/bus.ts";
import { isUniqueViolation } from "../platform/database/client.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import type { EventNames } from "../platform/event-names.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Vault } from "../platform/vault.ts";
import { checkAuth, checkMapping, type Draft } from "./check.ts";
import { defaultWebhookMappings } from "./defaults.ts";
import * as queries from "./queries.ts";

export interface WebhookMappingDeps {
  readonly bus: Bus;
  readonly vault: Vault;
  readonly evaluator: Evaluator;
  /** Names of the sources of the loaded plugins. */
  readonly loadedSources: () => Iterable<string>;
  readonly eventNames: EventNames;
}

const notFound = (id: number) => problem("not_found", `There is no webhook mapping ${id}.`);
const alreadyExists = () =>
  problem(
    "already_exists",
    "The same webhook mapping exists: source, event_type, jq_filter, path_pattern and canonical_trigger are equal.",
  );

/** The operations on webhook mappings. Every change is published before the request is answered, so the next webhook uses it. */
export function webhookMappingOperations({
  bus,
  vault,
  evaluator,
  loadedSources,
  eventNames,
}: WebhookMappingDeps): BoundOperation[] {
  const publishChange = () => bus.publish("mappings");
  const check = async (draft: Draft) => {
    await checkMapping(draft, new Set([...sources, ...loadedSources()]), evaluator);
    const { source, event_type } = draft;
    if (event_type !== null) await eventNames.check(source, event_type, "event_type");
  };
  const protect = async (auth: Input<typeof mappings.update>["auth"], storedMapping?: queries.StoredMapping) => {
    if (!auth) return { auth: { method: "none" as const }, secret: null };
    checkAuth(auth);
    if (auth.method === "none" || auth.method === "ip_allowlist") return { auth, secret: null };
    const { secret, ...shown } = auth;
    if (secret !== undefined) return { auth: shown, secret: await vault.seal(secret, "webhook_mapping") };
    if (storedMapping?.auth.method === auth.method) return { auth: shown, secret: storedMapping.secret };
    throw fieldProblem("auth.secret", `is required: none is stored for the method ${auth.method}`);
  };
  return [
    handle(mappings.list, (page, { sql }) => queries.listWebhookMappings(sql, page)),
    handle(mappings.get, async ({ id }, { sql }) => (await queries.findWebhookMapping(sql, id)) ?? Promise.reject(notFound(id))),
    handle(mappings.create, async (input, { sql }) => {
      const draft = toDraft(input);
      await check(draft);
      const row = await queries.insertWebhookMapping(sql, { ...draft, ...(await protect(input.auth)) });
      if (!row) throw alreadyExists();
      await publishChange();
      return row;
    }),
    handle(mappings.update, async ({ id, ...input }, { sql }) => {
      const before = await queries.findWebhookMapping(sql, id);
      if (!before) throw notFound(id);
      const draft = toDraft({ ...before, ...definedMembers(input), source: input.source ?? before.source });
      await check(draft);
      const auth = input.auth === undefined ? { auth: before.auth, secret: before.secret } : await protect(input.auth, before);
      const row = await queries.updateWebhookMapping(sql, id, { ...draft, ...auth }).catch((error) => {
        throw isUniqueViolation(error) ? alreadyExists() : error;
      });
      if (!row) throw notFound(id);
      await publishChange();
      return row;
    }),
    handle(mappings.remove, async ({ id }, { sql }) => {
      if (!(await queries.deleteWebhookMapping(sql, id))) throw notFound(id);
      await publishChange();
      return {};
    }),
    handle(mappings.seed, async (_, { sql }) => {
      const rows = await Promise.all(defaultWebhookMappings.map((row) => queries.insertWebhookMapping(sql, row)));
      await publishChange();
      const created = rows.filter(Boolean).length;
      return { created, skipped: rows.length - created };
    }),
  ];
}

const definedMembers = <T extends object>(object: T): Partial<T> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Partial<T>;

type DraftInput = { [Name in keyof Draft]?: Draft[Name] | undefined } & { source: string };
const toDraft = (input: DraftInput): Draft => ({
  source: input.source,
  event_type: input.event_type ?? null,
  jq_filter: input.jq_filter ?? null,
  canonical_trigger: input.canonical_trigger ?? null,
  path_pattern: input.path_pattern ?? null,
  extraction_rules: input.extraction_rules ?? null,
});
