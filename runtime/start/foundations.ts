import { openKeyring } from "../keys/keyring.ts";
import { prepareMemory } from "../memory/prepare.ts";
import { openBus } from "../platform/bus.ts";
import type { Config } from "../platform/config.ts";
import { migrate } from "../platform/database/migrate.ts";
import { openDatabase } from "../platform/database/open.ts";
import type { Log } from "../platform/log.ts";
import { exposureOf } from "../platform/network/exposure.ts";
import { createGuard } from "../platform/network/guard.ts";
import { leanFetch } from "../platform/network/lean-fetch.ts";
import { openPace } from "../platform/throttle/open.ts";
import { createVault } from "../platform/vault.ts";
import { fencedFetch } from "../platform/write-fence.ts";
import { createWatchdog } from "../watchdog/watchdog.ts";
import type { Closing } from "./closing.ts";

/** What everything else stands on: the database, what replicas tell each other, keys, the ways out, Redis. */
export async function openFoundations(config: Config, log: Log, closing: Closing) {
  const database = await openDatabase(config, log);
  closing.add(() => database.close());
  const { sql } = database;
  await migrate(database, log);
  const bus = await openBus(database, log);
  closing.add(() => bus.close());
  const watchdog = createWatchdog(sql, log, config.WATCHDOG_ENABLED);
  const keyring = await openKeyring(sql, bus, log, config.API_KEYS);
  const exposure = exposureOf(config, keyring.open);
  const addresses = createGuard({ allowed: config.ALLOW_PRIVATE_ADDRESSES, loopback: exposure.open && exposure.local });
  closing.add(() => addresses.close());
  const guard = { ...addresses, fetch: fencedFetch(addresses.fetch) };
  // For third-party plugins it is the same with and without API keys.
  const pluginAddresses = createGuard({ allowed: config.ALLOW_PRIVATE_ADDRESSES, loopback: false });
  closing.add(() => pluginAddresses.close());
  const pluginGuard = { ...pluginAddresses, fetch: fencedFetch(pluginAddresses.fetch) };
  const ground = await prepareMemory(config, database, log);
  closing.add(() => ground.redis?.close());
  return {
    ...{ config, log, database, sql, bus, keyring, exposure, guard, pluginGuard, ground },
    alarm: (message: string, context: Record<string, unknown>) => watchdog("error", message, context),
    warn: (message: string, context: Record<string, unknown>) => watchdog("warn", message, context),
    fetch: fencedFetch(leanFetch(config)),
    pace: openPace(database, ground.redis, log),
    vault: createVault(config.ENCRYPTION_KEY),
    /** Statements that may run at the same time: the embedded database has one session. */
    parallel: (most: number) => (database.kind === "embedded" ? 1 : most),
  };
}
export type Foundations = Awaited<ReturnType<typeof openFoundations>>;
