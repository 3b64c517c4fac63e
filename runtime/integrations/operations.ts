import { sources } from "@signalbox/schema/common";
import * as integrations from "@signalbox/schema/integrations";
import type { Output } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { constraintOf, type Queryable } from "../platform/database/client.ts";
import { retryOnChange } from "../platform/database/retry-on-change.ts";
import { causeOf, messageOf } from "../platform/error-text.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Guard } from "../platform/network/guard.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { mask } from "../platform/settings.ts";
import type { Vault } from "../platform/vault.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { listStoredSecrets, replaceStoredSecret, type StoredSecret } from "../stored-secrets/queries.ts";
import { checkCredentials, missingCredentials, restoreMasked } from "./credentials.ts";
import * as queries from "./queries.ts";
import { rotateSecret } from "./rotate.ts";
import { purposeOf } from "./store.ts";

export interface IntegrationDeps {
  readonly bus: Bus;
  readonly vault: Vault;
  readonly guard: Pick<Guard, "check">;
  readonly sources: () => ReadonlyMap<string, SourceEntry>;
  /** The connection that the environment configures. */
  readonly environment: (source: string) => Connection | undefined;
  /** The connection of a stored integration. Rejects if its credentials cannot be used. */
  readonly storedConnection: (id: string) => Promise<Connection | undefined>;
  readonly accounts: Pick<Accounts, "of">;
  readonly log: Log;
}

type IntegrationOutput = Output<typeof integrations.get>;
const notFound = (id: string) => problem("not_found", `There is no integration ${id}.`);
/** Timeout of a test of a connection. */
const testMs = 15_000;

/** The operations on integrations. Every change is published before the request is answered, so the next webhook uses it. */
export function integrationOperations(deps: IntegrationDeps): BoundOperation[] {
  const { bus, vault } = deps;
  const publishChange = () => bus.publish("integrations");
  const toOutput = (stored: queries.StoredIntegration): IntegrationOutput => {
    const { credentials: _, members, ...row } = stored;
    return {
      ...row,
      credentials: Object.fromEntries(members.map((name) => [name, mask])),
      missing: missingCredentials(stored, deps),
    };
  };
  return [
    handle(integrations.list, async (page, { sql }) => {
      const { items, total } = await queries.listIntegrations(sql, page);
      return { items: items.map(toOutput), total };
    }),
    handle(integrations.get, async ({ id }, { sql }) => {
      const row = await queries.findIntegration(sql, id);
      if (!row) throw notFound(id);
      return toOutput(row);
    }),
    handle(integrations.create, async ({ source, name, credentials, agent_id, project_id }, { sql }) => {
      vault.requireKey();
      await checkCredentials(source, credentials, deps);
      const id = newId();
      const stored = { credentials: await vault.seal(credentials, purposeOf(id)), members: Object.keys(credentials) };
      const plugin = deps.sources().get(source)?.plugin ?? null;
      const row = { id, source, plugin, name, ...stored, agent_id: agent_id ?? null, project_id: project_id ?? null };
      const integration = await queries.insertIntegration(sql, row).catch(unknownReference(row));
      await publishChange();
      return toOutput(integration);
    }),
    handle(integrations.update, async ({ id, ...input }, { sql }) => {
      if (input.credentials) vault.requireKey();
      const integration = await retryOnChange(async () => {
        const storedIntegration = await queries.findIntegration(sql, id);
        if (!storedIntegration) throw notFound(id);
        const credentials = input.credentials && (await restoreMasked(storedIntegration, input.credentials, vault));
        if (credentials) await checkCredentials(storedIntegration.source, credentials, deps);
        const changes = {
          name: input.name ?? storedIntegration.name,
          agent_id: input.agent_id === undefined ? storedIntegration.agent_id : input.agent_id,
          project_id: input.project_id === undefined ? storedIntegration.project_id : input.project_id,
          ...(credentials && {
            credentials: await vault.seal(credentials, purposeOf(id)),
            members: Object.keys(credentials),
          }),
        };
        return queries.updateIntegration(sql, storedIntegration, changes).catch(unknownReference(changes));
      });
      await publishChange();
      await bus.publish("queue");
      return toOutput(integration);
    }),
    handle(integrations.rotate, async ({ id, webhook_secret }, { sql }) => {
      const rotated = await retryOnChange(async () => {
        const before = await queries.findIntegration(sql, id);
        if (!before) throw notFound(id);
        return rotateSecret(sql, before, webhook_secret, deps);
      });
      await publishChange();
      return { ...toOutput(rotated.row), webhook_secret: rotated.generatedSecret };
    }),
    handle(integrations.remove, async ({ id }, { sql }) => {
      if (!(await queries.deleteIntegration(sql, id))) throw notFound(id);
      await publishChange();
      return {};
    }),
    handle(integrations.test, async ({ source }, { signal }) => ({ source, status: await tryConnection(source, signal, deps) })),
    handle(integrations.testStored, async ({ id }, { sql, signal }) => {
      const row = await queries.findIntegration(sql, id);
      if (!row) throw notFound(id);
      return { id, source: row.source, ...(await tryStored(row, signal, deps)) };
    }),
    handle(integrations.reencrypt, async (_, { sql }) => {
      vault.requireKey();
      const count = { reencrypted: 0, unchanged: 0, failed: 0 };
      for (const one of await listStoredSecrets(sql)) count[await reencrypt(sql, one, deps)]++;
      await publishChange();
      await bus.publish("mappings");
      return count;
    }),
  ];
}

async function reencrypt(sql: Queryable, one: StoredSecret, { vault, log }: IntegrationDeps) {
  try {
    const value = await vault.open(one.ciphertext, one.purpose);
    if (vault.isCurrent(one.ciphertext)) return "unchanged";
    return (await replaceStoredSecret(sql, one, await vault.seal(value, one.purpose))) ? "reencrypted" : "unchanged";
  } catch (error) {
    log.error("failed to re-encrypt a stored secret", { of: `${one.kind} ${one.name}`, error: String(error) });
    return "failed";
  }
}

/** The reference to a row that does not exist, by the name of the foreign key. */
function unknownReference(row: { agent_id: string | null; project_id: number | null }) {
  return (error: unknown): never => {
    const field = constraintOf(error) === "integrations_agent_id_fkey" ? "agent_id" : "project_id";
    if (!constraintOf(error)?.startsWith("integrations_")) throw error;
    throw fieldProblem(field, `there is no ${field === "agent_id" ? "agent" : "project"} ${JSON.stringify(row[field])}`);
  };
}

/** Uses the credentials once, and returns the result in words. */
async function tryStored(
  row: queries.StoredIntegration,
  signal: AbortSignal,
  deps: IntegrationDeps,
): Promise<Pick<Output<typeof integrations.testStored>, "status" | "account" | "message">> {
  const missing = missingCredentials(row, deps);
  if (missing.length > 0)
    return { status: "not_configured", account: null, message: `credentials are missing: ${missing.join(", ")}` };
  try {
    const connection = await deps.storedConnection(row.id);
    if (!connection) throw new Error(`no loaded plugin provides the source ${row.source}`);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(testMs)]);
    await connection.source.adapter.check({ connection: connection.settings, key: "test", signal: limit });
    const account = await deps.accounts.of(connection);
    return { status: "ok", account, message: account === null ? "the platform answers" : `the platform answers ${account}` };
  } catch (error) {
    return { status: "failed", account: null, message: causeOf(error) };
  }
}

async function tryConnection(
  source: string,
  signal: AbortSignal,
  deps: IntegrationDeps,
): Promise<Output<typeof integrations.test>["status"]> {
  const connection = deps.environment(source);
  if (!connection) {
    if ((sources as readonly string[]).includes(source)) return "not_configured";
    throw problem("not_found", `There is no source "${source}".`);
  }
  if (connection.missingSettings.length > 0) return "not_configured";
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(testMs)]);
    await connection.source.adapter.check({ connection: connection.settings, key: "test", signal: limit });
    return "ok";
  } catch (error) {
    deps.log.warn("connection test failed", {
      source,
      error: messageOf(error),
    });
    return "failed";
  }
}
