import type { Sql } from "../platform/database/client.ts";
import { storable } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { insertEntry, type WatchdogLevel } from "./queries.ts";

/** What an operator should hear of. Always logged; kept where `WATCHDOG_ENABLED`. Never throws, never delays its caller. */
export type Watchdog = (level: WatchdogLevel, message: string, context?: Record<string, unknown>) => void;

export function createWatchdog(sql: Sql, log: Log, enabled: boolean): Watchdog {
  return (level, message, context = {}) => {
    log[level](message, context);
    if (!enabled) return;
    insertEntry(sql, level, storable(message), storable(context)).catch((error) =>
      log.warn("watchdog entry not kept", { error }),
    );
  };
}
