import type { Bus } from "../bus.ts";
import type { Sql } from "../database/client.ts";
import type { Log } from "../log.ts";
import { type Connection, connection } from "../plugins/connections.ts";
import type { SourceEntry } from "../plugins/host.ts";
import type { Vault } from "../vault.ts";
import { allIntegrations, findIntegration, type StoredIntegration } from "./queries.ts";

/** What an execution is, as far as it decides in whose name it works. */
export interface Work {
  /** Path segment of the webhook that started it. */
  readonly slug: string | null;
  readonly project_id: number | null;
  readonly agent_id: string | null;
}

/** The integrations in memory, each with its connection. */
export interface IntegrationStore {
  find(id: string): Promise<Connection | undefined>;
  /** The integration in whose name work at a source is done: that of its webhook, else the agent's, else the project's. */
  forWork(source: string, work: Work): Connection | null;
  /** Connections of all integrations at a source of this plugin. */
  ofPlugin(plugin: string): readonly Connection[];
  refresh(): Promise<void>;
  close(): void;
}

export interface StoreOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly sourceOf: (name: string) => SourceEntry | undefined;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
}

export const purposeOf = (id: string): string => `integration ${id}`;

interface Entry {
  readonly row: StoredIntegration;
  readonly connection: Connection;
}
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Read once, and again whenever an integration changes on any replica; the sweep is for a notification that got lost. */
export async function openIntegrations(options: StoreOptions, sweepMs = 30_000): Promise<IntegrationStore> {
  const { sql, bus, log } = options;
  let entries: readonly Entry[] = [];
  let byId: ReadonlyMap<string, Entry> = new Map();
  /** Rows that could not be used, by their ciphertext, so that each is told of once. */
  const failed = new Set<string>();
  const entryOf = async (row: StoredIntegration): Promise<Entry | null> => {
    const known = byId.get(row.id);
    if (known && known.row.credentials === row.credentials) return { ...known, row };
    try {
      return { row, connection: await connect(row, options) };
    } catch (error) {
      if (failed.has(row.credentials)) return null;
      if (failed.size > 10_000) failed.clear();
      failed.add(row.credentials);
      const why = error instanceof Error ? error.message : String(error);
      options.watchdog("the credentials of an integration cannot be used", {
        integration: row.id,
        source: row.source,
        error: why,
      });
      return null;
    }
  };
  const refresh = async () => {
    const rows = await allIntegrations(sql);
    const read = await Promise.all(rows.map(entryOf));
    entries = read.filter((entry) => entry !== null);
    byId = new Map(entries.map((entry) => [entry.row.id, entry]));
  };
  bus.on("integrations", refresh);
  await refresh();
  const timer = setInterval(() => void refresh().catch((error) => log.warn("integrations not refreshed", { error })), sweepMs);
  return {
    find: async (id) => {
      if (!uuid.test(id)) return undefined;
      const known = byId.get(id.toLowerCase());
      if (known) return known.connection;
      // Another replica may have made it a moment ago.
      const row = await findIntegration(sql, id);
      return row ? (await entryOf(row))?.connection : undefined;
    },
    forWork: (source, { slug, project_id, agent_id }) => {
      const mine = entries.filter(({ row }) => row.source === source);
      const found =
        (slug !== null && mine.find(({ row }) => row.id === slug.toLowerCase())) ||
        (agent_id !== null && mine.find(({ row }) => row.agent_id === agent_id)) ||
        (project_id !== null && mine.find(({ row }) => row.agent_id === null && row.project_id === project_id));
      return found ? found.connection : null;
    },
    ofPlugin: (plugin) => entries.filter(({ connection: one }) => one.source.plugin === plugin).map((entry) => entry.connection),
    refresh,
    close: () => clearInterval(timer),
  };
}

async function connect(row: StoredIntegration, { vault, sourceOf }: StoreOptions): Promise<Connection> {
  const source = sourceOf(row.source);
  if (!source) throw new Error(`no loaded plugin brings the source ${row.source}`);
  const credentials = (await vault.open(row.credentials, purposeOf(row.id))) as Record<string, unknown>;
  return connection(row.id, source, credentials);
}
