import { refusedSummaries } from "../message-queues/refused-queries.ts";
import {
  connections,
  connectionWaiters,
  executions,
  measureProcess,
  oldestQueued,
  pluginUp,
  refusedMessages,
  runningExecutions,
  showChecks,
  tableBytes,
} from "../platform/telemetry/metrics.ts";
import { isAvailable } from "../plugins/installed-plugin.ts";
import { tableSizes } from "../retention/queries.ts";
import { checkedParts } from "../status/operations.ts";
import { openExecutions } from "../usage/queries.ts";
import type { Core } from "./core.ts";
import type { Plugins } from "./plugins.ts";
import type { Queue } from "./queue.ts";
import type { StatusBoard } from "./status.ts";

/** Sizes change slowly, and reading them costs more than all other metrics. Milliseconds. */
const sizesMs = 60_000;

/** Updates metrics on request. If a value cannot be read, the last one remains. */
export function openMetrics({ sql, database, log }: Core, { manager }: Plugins, queue: Queue, status: StatusBoard) {
  measureProcess();
  let sizesAt = Number.NEGATIVE_INFINITY;
  const read = async () => {
    const { states, oldest } = await openExecutions(sql);
    for (const state of ["queued", "held", "running", "waiting"])
      executions.set({ state }, states.find((one) => one.state === state)?.count ?? 0);
    oldestQueued.set(oldest ?? 0);
    const refused = await refusedSummaries(sql);
    refusedMessages.reset();
    for (const { queue, count } of refused) refusedMessages.set({ queue }, count);
    if (performance.now() - sizesAt < sizesMs) return;
    for (const { name, bytes } of await tableSizes(sql)) tableBytes.set({ table: name }, bytes);
    sizesAt = performance.now();
  };
  return async () => {
    runningExecutions.set(queue?.running() ?? 0);
    const { busy, idle, waiting } = database.usage();
    connections.set({ state: "busy" }, busy);
    connections.set({ state: "idle" }, idle);
    connectionWaiters.set(waiting);
    showPlugins(manager);
    showChecks(await checkedParts(status, sql));
    await read().catch((error) => log.warn("failed to read metrics from the database", { error }));
  };
}

/** Plugins that were removed disappear; those that could not be loaded are shown as not running. */
function showPlugins(manager: Plugins["manager"]): void {
  pluginUp.reset();
  for (const id of manager.refused.keys()) pluginUp.set({ plugin: id }, 0);
  for (const plugin of manager.all()) pluginUp.set({ plugin: plugin.manifest.id }, isAvailable(plugin) ? 1 : 0);
}
