import type { Output } from "@signalbox/schema/operation";
import * as status from "@signalbox/schema/status";
import { type Breaker, listBreakers } from "../breakers/queries.ts";
import { listPauses } from "../pauses/queries.ts";
import { raceTimeout } from "../platform/abortable.ts";
import type { Sql } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { version } from "../platform/version.ts";
import type { Board } from "./board.ts";
import { integrationNames, listConnectedAgents, listReplicas, readQueue } from "./queries.ts";
import { accountName } from "./remote-probes.ts";

export interface StatusParts {
  readonly board: Pick<Board, "read">;
  /** Id of this replica. */
  readonly replica: string;
  /** How long a replica that stopped sending heartbeats is listed. */
  readonly silentSeconds: number;
  /** The host of a breaker's model or connection, by the key of the breaker. */
  readonly hostOf: (key: string) => Promise<string | null>;
  /** Id of the installed plugin that contributes a source; `null` if another plugin does. */
  readonly installedPluginOf: (source: string) => string | null;
}

type Status = Output<typeof status.get>;
/** Maximum wait for the figures of the queue, in milliseconds: while the database is unavailable, there are none. */
const timeoutMs = 2_000;

export const statusOperation = ({ board, hostOf, installedPluginOf, ...own }: StatusParts) =>
  handle(status.get, async (_, { sql }) => {
    const [found, stored] = await Promise.all([board.read(), readStored(sql, own)]);
    const { breakers, ...rows } = stored ?? { queue: null, paused: [], replicas: [], agents: [], breakers: [] };
    const shown = await Promise.all(breakers.map(async (one) => ({ ...one, host: await hostOf(one.key) })));
    const known = withBreakers(found, shown, installedPluginOf);
    const checks = stored ? known : known.map(withoutAnswer);
    const state = stateOf(checks, stored);
    return { state, checks, ...rows, version, timestamp: new Date().toISOString() };
  });

/** Whether each checked part works, by the name of its check; without those that have not been checked yet. */
export async function checkedParts(
  { board }: Pick<StatusParts, "board">,
  sql: Sql,
): Promise<(readonly [name: string, works: boolean])[]> {
  const breakers = openBreakers(sql).catch(() => []);
  const [found, open] = await Promise.all([board.read(), raceTimeout(breakers, timeoutMs, [])]);
  const shown = open.map((one) => ({ ...one, host: null }));
  const checks = withBreakers(found, shown, () => null);
  return checks.flatMap(({ name, state }) => (state === "unknown" ? [] : [[name, state !== "failed"] as const]));
}

type Stored = Pick<Status, "queue" | "paused" | "replicas" | "agents"> & { readonly breakers: readonly NamedBreaker[] };

/** With the name of its check. */
type NamedBreaker = Breaker & { readonly check: string };

async function openBreakers(sql: Sql): Promise<NamedBreaker[]> {
  const breakers = await listBreakers(sql);
  const ids = breakers.flatMap(({ key }) => key.split(" ")[2] ?? []).filter((id) => id !== "environment");
  const names = ids.length > 0 ? await integrationNames(sql, ids) : new Map<string, string>();
  return breakers.map((one) => ({ ...one, check: checkOf(one.key, names) }));
}

function checkOf(key: string, names: ReadonlyMap<string, string>): string {
  if (key === "model") return key;
  const [, source = "", id = ""] = key.split(" ");
  return `connection:${accountName(source, id, names)}`;
}

/** Failures of executions take precedence over the checks of this replica. */
function withBreakers(
  checks: Status["checks"],
  breakers: readonly (NamedBreaker & { readonly host: string | null })[],
  installedPluginOf: StatusParts["installedPluginOf"],
): Status["checks"] {
  const failed = breakers.map(({ key, check: name, host, reason, opened_at, next_probe_at }): Status["checks"][number] => {
    const remedy = remedyOf(key, reason, installedPluginOf);
    const message = `${host === null ? "" : `${host}: `}executions wait until it answers: ${reason.replace(/\.$/, "")}${remedy}`;
    const connection = checks.find((one) => one.name === name)?.connection ?? null;
    return { name, state: "failed", since: opened_at, message, next_try_at: next_probe_at, connection };
  });
  const names = new Set(failed.map(({ name }) => name));
  return [...failed, ...checks.filter(({ name }) => !names.has(name))];
}

/** What the operator must do so that an outage ends; empty if it can end without the operator. */
function remedyOf(key: string, reason: string, installedPluginOf: StatusParts["installedPluginOf"]): string {
  if (!/ answered 401\b/.test(reason)) return "";
  if (key === "model")
    return ". Correct LLM_API_KEY and restart the service, or correct the proxy's own credential for this model";
  const [, source, id] = key.split(" ");
  if (id !== "environment") return `. Correct the credentials of the integration ${id}`;
  const plugin = installedPluginOf(source ?? "");
  return plugin === null
    ? `. Correct the credentials of ${source} in the settings and restart the service`
    : `. Correct the credentials of ${source} with signalbox plugin configure ${plugin}, without a restart`;
}

async function readStored(
  sql: Sql,
  { replica, silentSeconds }: Pick<StatusParts, "replica" | "silentSeconds">,
): Promise<Stored | null> {
  const read = async () => ({
    queue: await readQueue(sql),
    paused: (await listPauses(sql, { limit: 1000, offset: 0 })).items,
    replicas: await listReplicas(sql, replica, silentSeconds),
    agents: await listConnectedAgents(sql),
    breakers: await openBreakers(sql),
  });
  return raceTimeout(
    read().catch(() => null),
    timeoutMs,
    null,
  );
}

/**
 * The database did not answer this request, but its check is some seconds old: without this, nothing would say why the service is
 * stopped.
 */
function withoutAnswer(check: Status["checks"][number]): Status["checks"][number] {
  if (check.name !== "database" || check.state === "failed") return check;
  const message = "it does not answer now, so the queue and the replicas are unknown";
  return { ...check, state: "failed", since: new Date().toISOString(), message };
}

function stateOf(checks: Status["checks"], stored: Pick<Stored, "paused" | "replicas"> | null): Status["state"] {
  if (!stored || stored.paused.some(({ scope }) => scope === "all")) return "stopped";
  const works = stored.replicas.some(({ role, silent_seconds }) => role !== "api" && silent_seconds === null);
  if (!works) return "stopped";
  const isWell = checks.every(({ state }) => state === "ok" || state === "unknown");
  return isWell && stored.paused.length === 0 ? "ok" : "degraded";
}
