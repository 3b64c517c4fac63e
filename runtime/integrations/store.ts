import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import { isUuid } from "../platform/ids.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { type Connection, parseConnection, type StoredConnections } from "../plugins/connections.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { addressesIn } from "../plugins/settings-hosts.ts";
import { allIntegrations, findIntegration, type StoredIntegration } from "./queries.ts";

/** The integrations in memory, each with its connection. */
interface IntegrationStore extends StoredConnections, CachedValue {}

interface StoreOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly sourceOf: (name: string) => SourceEntry | undefined;
  /** The settings of a source from the environment. */
  readonly environmentOf: (source: SourceEntry) => Readonly<Record<string, unknown>>;
  readonly alarm: Report;
}

export const purposeOf = (id: string): string => `integration ${id}`;

interface Entry {
  readonly row: StoredIntegration;
  /** `null` if its credentials cannot be used here. */
  readonly connection: Connection | null;
}
/** How long after the start a missing plugin is reported, in milliseconds. */
const startMs = 30_000;

/** Reads the integrations once, and again whenever one changes on any replica. */
export async function openIntegrations(options: StoreOptions): Promise<IntegrationStore> {
  const { sql, bus, log } = options;
  const openedAt = performance.now();
  let entries: readonly Entry[] = [];
  let byId: ReadonlyMap<string, Entry> = new Map();
  /** Rows that cannot be used, by their ciphertext, so that each is reported once. */
  const reportedCredentials = new Set<string>();
  const entryOf = async (row: StoredIntegration): Promise<Entry> => {
    const known = byId.get(row.id);
    const source = options.sourceOf(row.source);
    // An upgrade of a plugin replaces its source.
    const isSame = known?.connection && known.connection.source === source && known.row.credentials === row.credentials;
    if (isSame) return { ...known, row };
    // Third-party plugins are loaded after the integrations.
    if (!source && performance.now() - openedAt < startMs) return { row, connection: null };
    try {
      return { row, connection: await connect(row, source, options) };
    } catch (error) {
      if (reportedCredentials.has(row.credentials)) return { row, connection: null };
      if (reportedCredentials.size > 10_000) reportedCredentials.clear();
      reportedCredentials.add(row.credentials);
      const reason = messageOf(error);
      options.alarm("the credentials of an integration cannot be used", {
        integration: row.id,
        source: row.source,
        error: reason,
      });
      return { row, connection: null };
    }
  };
  const read = async () => {
    const rows = await allIntegrations(sql);
    entries = await Promise.all(rows.map(entryOf));
    byId = new Map(entries.map((entry) => [entry.row.id, entry]));
  };
  const cache = await openCachedValue({ name: "integrations", topic: "integrations", read, bus, log });
  return {
    ...cache,
    find: async (id) => {
      if (!isUuid(id)) return undefined;
      // Another replica may have created it a moment ago.
      const row = byId.get(id.toLowerCase())?.row ?? (await findIntegration(sql, id));
      if (!row) return undefined;
      return (await entryOf(row)).connection ?? Promise.reject(unusable(row));
    },
    forWork: (source, { slug, project_id }, agentId) => {
      const ofSource = entries.filter(({ row }) => row.source === source);
      const entry =
        (slug !== null && ofSource.find(({ row }) => row.id === slug.toLowerCase())) ||
        (agentId !== null && ofSource.find(({ row }) => row.agent_id === agentId)) ||
        (project_id !== null && ofSource.find(({ row }) => row.agent_id === null && row.project_id === project_id));
      if (!entry) return null;
      // Never uses another integration instead.
      if (!entry.connection) throw unusable(entry.row);
      return entry.connection;
    },
    ofPlugin: (plugin) => entries.flatMap(({ connection: one }) => (one?.source.plugin === plugin ? [one] : [])),
  };
}

const unusable = ({ id, name }: StoredIntegration) =>
  problem("unavailable", `The credentials of the integration ${name} (${id}) cannot be used; the service's log says why.`);

/** An integration without an address belongs to the operator's own server if the environment names one. */
async function connect(
  row: StoredIntegration,
  source: SourceEntry | undefined,
  { vault, environmentOf }: StoreOptions,
): Promise<Connection> {
  if (!source) throw new Error(`no loaded plugin provides the source ${row.source}`);
  // Its operator gave the credentials to one plugin. Another plugin with a source of the same name must not receive them.
  if (row.plugin !== null && row.plugin !== source.plugin)
    throw new Error(`the credentials are for the plugin ${row.plugin}, but the source ${row.source} is now of ${source.plugin}`);
  const credentials = (await vault.open(row.credentials, purposeOf(row.id))) as Record<string, unknown>;
  return parseConnection(row.id, source, { ...addressesIn(environmentOf(source)), ...credentials });
}
