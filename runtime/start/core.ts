import { findSettings } from "../memory/queries.ts";
import { openBus } from "../platform/bus.ts";
import { byPolling, type OpenChannel, overPostgres } from "../platform/bus-channels.ts";
import type { Config } from "../platform/config.ts";
import type { Database } from "../platform/database/client.ts";
import { migrate } from "../platform/database/migrate.ts";
import { openDatabase, warnOfSettings } from "../platform/database/open.ts";
import type { Log } from "../platform/log.ts";
import { overRedis } from "../platform/redis/bus-channel.ts";
import { exportTraces } from "../platform/telemetry/export.ts";
import { createHolds } from "../platform/throttle/record-holds.ts";
import { createVault } from "../platform/vault.ts";
import { openPolicies } from "../policy/policies.ts";
import { settingsPolicy } from "../policy/settings.ts";
import { createWatchdog } from "../watchdog/watchdog.ts";
import type { Shutdown } from "./shutdown.ts";

/**
 * The dependencies of all parts: configuration, log, database, bus, policies, vault, alerts, and the list of resources to close.
 */
export async function openCore(config: Config, log: Log, shutdown: Shutdown) {
  const endTraces = await exportTraces(config, log);
  shutdown.add(() => endTraces?.());
  const database = await openDatabase(config, log);
  shutdown.add(() => database.close());
  const { sql } = database;
  await migrate(database, log);
  await warnOfSettings(database, log);
  const bus = await openBus(database, log, await channelOf(config, database));
  shutdown.add(() => bus.close());
  const policies = await openPolicies(sql, bus, log, settingsPolicy(config));
  shutdown.add(() => policies.close());
  const watchdog = createWatchdog(sql, log, config.WATCHDOG_ENABLED);
  return {
    config,
    log,
    shutdown,
    database,
    sql,
    bus,
    policies,
    vault: createVault(config.ENCRYPTION_KEY),
    holds: createHolds(),
    inform: (message: string, context: Record<string, unknown>) => watchdog("info", message, context),
    warn: (message: string, context: Record<string, unknown>) => watchdog("warn", message, context),
    alarm: (message: string, context: Record<string, unknown>) => watchdog("error", message, context),
  };
}
export type Core = Awaited<ReturnType<typeof openCore>>;

/** Notifies replicas of changes. Each installation has a separate name in a shared Redis. */
async function channelOf({ REPLICA_BUS, REDIS_URL }: Config, database: Database): Promise<OpenChannel> {
  if (REPLICA_BUS === "polling") return byPolling;
  if (REPLICA_BUS === "postgres") return overPostgres(database);
  const { installation } = await findSettings(database.sql);
  return overRedis(REDIS_URL, `signalbox:${installation.slice(0, 8)}:replicas`);
}

/** Statements that may run concurrently: the embedded database has one session. */
export const concurrencyOf = ({ database }: Core, most: number): number => (database.kind === "embedded" ? 1 : most);
