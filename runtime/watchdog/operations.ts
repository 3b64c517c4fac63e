import { problem } from "@signalbox/schema/problem";
import * as watchdog from "@signalbox/schema/watchdog";
import { handle } from "../platform/operation.ts";
import { listEntries } from "./queries.ts";

/** Disabled, an empty list would say that all is well. */
export const watchdogOperation = (enabled: boolean) =>
  handle(watchdog.list, async (filter, { sql }) => {
    if (!enabled) throw problem("unavailable", "The watchdog keeps nothing: set WATCHDOG_ENABLED=true and start again.");
    return listEntries(sql, filter);
  });
