import type { Sql } from "../platform/database/client.ts";
import type { Host } from "../plugins/host.ts";
import type { Finding, Probe } from "./board.ts";
import { type LastPluginRun, type LastRun, listKnowledge, listMcpServers, listPolls, listUseCases } from "./queries.ts";

const everyMs = 10_000;

/** The contributions of the loaded plugins that stored rows name. */
type Contributions = Pick<Host, "sources" | "knowledge" | "useCases" | "memories">;

/** `missing`: what no running plugin provides although the row needs it, and what to do; `null` if nothing is missing. */
const findingsOf = <Row extends LastRun>(kind: string, rows: readonly Row[], missing: (row: Row) => string | null = () => null) =>
  rows.map((row): Finding => {
    const { name: part, error, next_try_at, has_run, late_since = null } = row;
    const name = `${kind}:${part}`;
    // Also before the next try, which would fail.
    const message = missing(row) ?? error;
    if (message !== null) return { name, state: "failed", message, next_try_at };
    if (late_since !== null)
      return { name, state: "degraded", message: `it has been due since ${late_since}, and no replica has polled it yet` };
    return { name, state: "ok", message: has_run ? "the last run succeeded" : "it has not run yet", next_try_at };
  });

/** The results of the last tries that other parts of the service stored. */
export function storedProbes(sql: Sql, { sources, knowledge, useCases }: Omit<Contributions, "memories">): Probe[] {
  const poll = ({ id, needs }: LastPluginRun) => {
    if (sources.get(needs)?.adapter.poll) return null;
    return `no running plugin polls the source ${needs}. Install, enable or correct its plugin, or delete the poll source: signalbox poll-sources delete ${id}`;
  };
  const sync = ({ id, needs }: LastPluginRun) => {
    if (knowledge.has(needs)) return null;
    return `no running plugin provides the connector ${needs}. Install, enable or correct its plugin, or delete the knowledge source: signalbox knowledge-sources delete ${id}`;
  };
  return [
    { name: "polls", everyMs, run: async () => findingsOf("poll", await listPolls(sql), poll) },
    { name: "mcp", everyMs, run: async () => findingsOf("mcp", await listMcpServers(sql)) },
    { name: "knowledge", everyMs, run: async () => findingsOf("knowledge", await listKnowledge(sql), sync) },
    {
      name: "use_cases",
      everyMs,
      run: async () =>
        (await listUseCases(sql))
          .filter((one) => !useCases.has(one))
          .map((one): Finding => {
            const message = `it is set up, but no running plugin provides it. To delete what it created, install, enable or correct its plugin, then run: signalbox use-cases teardown ${one}`;
            return { name: `use_case:${one}`, state: "degraded", message };
          }),
    },
  ];
}

/** Whether the long-term store of memories still has its plugin; no check if it does. */
export const memoryStoreProbe = (store: string, { memories }: Pick<Contributions, "memories">): Probe => ({
  name: "memory_store",
  everyMs,
  run: async () => {
    if (memories.has(store)) return [];
    const message = `no running plugin provides the memory store ${store}, and without it the service does not start again. Install, enable or correct its plugin, or change MEMORY_STORE, and restart the service`;
    return [{ name: "memory_store", state: "failed", message }];
  },
});
