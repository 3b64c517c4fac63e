import * as knowledge from "@signalbox/schema/knowledge";
import type { Output } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { isMissingReference, type Sql } from "../platform/database/client.ts";
import { retryOnChange } from "../platform/database/retry-on-change.ts";
import { newId } from "../platform/ids.ts";
import type { Guard } from "../platform/network/guard.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Vault } from "../platform/vault.ts";
import { checkSettings } from "../plugins/check-settings.ts";
import type { KnowledgeEntry } from "../plugins/host.ts";
import { changedHost } from "../plugins/settings-hosts.ts";
import { hurryJob, listJobs, openJob } from "./job-queries.ts";
import { purposeOf, settingsOf } from "./open-source.ts";
import * as queries from "./queries.ts";

export interface KnowledgeDeps {
  readonly bus: Bus;
  readonly vault: Vault;
  readonly guard: Pick<Guard, "check">;
  readonly connectors: () => ReadonlyMap<string, KnowledgeEntry>;
}
type Config = Readonly<Record<string, unknown>>;

const notFound = (id: string) => problem("not_found", `There is no knowledge source ${id}.`);
const toOutput = ({ secrets: _, secret_members: __, ...row }: queries.StoredSource): Output<typeof knowledge.get> => row;

export function knowledgeOperations(deps: KnowledgeDeps): BoundOperation[] {
  const { bus, vault } = deps;
  const mustFind = async (sql: Sql, id: string) => {
    const row = await queries.findSource(sql, id);
    if (!row) throw notFound(id);
    return row;
  };
  /** Every replica reads its secrets before the request is answered, so that none posts one. */
  const publishChange = async () => {
    await bus.publish("secrets");
    await bus.publish("knowledge");
  };
  return [
    handle(knowledge.list, async (page, { sql }) => {
      const { items, total } = await queries.listSources(sql, page);
      return { items: items.map(toOutput), total };
    }),
    handle(knowledge.get, async ({ id }, { sql }) => toOutput(await mustFind(sql, id))),
    handle(knowledge.create, async ({ name, type, config, project_id, enabled }, { sql }) => {
      const entry = deps.connectors().get(type);
      if (!entry) throw unknownType(type, deps);
      const id = newId();
      const stored = await seal(id, type, entry, config, deps);
      const row = { id, name, type, ...stored, project_id: project_id ?? null, enabled };
      const source = await queries.insertSource(sql, row).catch(unknownProject(row.project_id));
      if (stored.secrets !== null) await publishChange();
      return toOutput(source);
    }),
    handle(knowledge.update, async ({ id, config, ...input }, { sql }) => {
      const source = await retryOnChange(async () => {
        const storedSource = await mustFind(sql, id);
        const sealedConfig = config && (await replaceConfig(storedSource, config, deps));
        const changes = {
          ...sealedConfig,
          name: input.name ?? storedSource.name,
          enabled: input.enabled ?? storedSource.enabled,
          project_id: input.project_id === undefined ? storedSource.project_id : input.project_id,
        };
        const update = sql.begin(async (tx) => {
          const updated = await queries.updateSource(tx, storedSource, changes);
          if (updated && sealedConfig) await queries.forgetProgress(tx, id);
          return updated;
        });
        return update.catch(unknownProject(changes.project_id));
      });
      if (config) await publishChange();
      return toOutput(source);
    }),
    handle(knowledge.remove, async ({ id }, { sql }) => {
      if (!(await queries.deleteSource(sql, id))) throw notFound(id);
      return {};
    }),
    handle(knowledge.sync, async ({ id }, { sql }) => {
      const job = await openJob(sql, newId(), id);
      if (!job) throw notFound(id);
      await hurryJob(sql, id);
      await bus.publish("knowledge");
      return job;
    }),
    handle(knowledge.jobs, async ({ id, ...page }, { sql }) => {
      await mustFind(sql, id);
      return listJobs(sql, id, page);
    }),
  ];

  /** An omitted secret is kept, unless an address now points to another server, which would receive it. */
  async function replaceConfig(storedSource: queries.StoredSource, config: Config, { connectors }: KnowledgeDeps) {
    const entry = connectors().get(storedSource.type);
    if (!entry) throw problem("unavailable", `No loaded plugin provides the connector ${storedSource.type}.`);
    const omittedSecrets = storedSource.secret_members.filter((name) => config[name] === undefined);
    if (omittedSecrets.length === 0) return seal(storedSource.id, storedSource.type, entry, config, deps);
    const newHostMember = changedHost(storedSource.config, config);
    if (newHostMember !== undefined)
      throw problem(
        "bad_request",
        `config.${omittedSecrets[0]}: must be sent again, because config.${newHostMember} points to another server`,
        {
          field: `config.${omittedSecrets[0]}`,
        },
      );
    vault.requireKey();
    const settings: Config = await settingsOf(storedSource, vault).catch((error) => {
      throw problem("unavailable", `The stored secrets of this source cannot be decrypted (${error.message}). Send them again.`);
    });
    const secrets = Object.fromEntries(omittedSecrets.map((name) => [name, settings[name]]));
    return seal(storedSource.id, storedSource.type, entry, { ...config, ...secrets }, deps);
  }
}

/** Validates a config by the connector's schema and separates its secrets. A member that is `null` counts as absent. */
async function seal(id: string, type: string, { knowledge: connector }: KnowledgeEntry, input: Config, deps: KnowledgeDeps) {
  const config = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
  await checkSettings(config, { field: "config", owner: type, schema: connector.config, guard: deps.guard });
  const isSecret = ([name]: [string, unknown]) => (connector.secrets as readonly string[]).includes(name);
  const secret = Object.entries(config).filter(isSecret);
  return {
    config: Object.fromEntries(Object.entries(config).filter((one) => !isSecret(one))),
    secrets: secret.length === 0 ? null : await deps.vault.seal(Object.fromEntries(secret), purposeOf(id)),
    secret_members: secret.map(([name]) => name),
  };
}

function unknownType(type: string, { connectors }: KnowledgeDeps) {
  const known = [...connectors().keys()].join(", ") || "none";
  return fieldProblem("type", `no loaded plugin provides the connector ${JSON.stringify(type)}; available: ${known}`);
}

const unknownProject = (project: number | null) => (error: unknown) => {
  if (!isMissingReference(error)) throw error;
  throw fieldProblem("project_id", `there is no project ${project}`);
};
