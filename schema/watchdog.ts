import { z } from "zod";
import { timestamp } from "./common.ts";
import { historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";

export const watchdogLevel = z.enum(["info", "warn", "error"]).meta({ id: "WatchdogLevel" });

/** A condition that needs the attention of an operator. */
export const watchdogEntry = z
  .object({
    id: z.int(),
    level: watchdogLevel,
    message: z.string(),
    context: z.record(z.string(), z.unknown()).describe("Details such as ids and reasons, by name."),
    created_at: timestamp,
  })
  .meta({ id: "WatchdogEntry" });

export const list = operation({
  id: "watchdog.list",
  http: "GET /api/watchdog",
  rpc: "MonitoringService.ListWatchdogEntries",
  summary: "List watchdog entries",
  description: "Newest first. Requires `WATCHDOG_ENABLED=true`.",
  input: z.object({
    ...historyFilter,
    level: watchdogLevel.optional().describe("Return only entries of this level."),
    search: z.string().max(500).optional().describe("Return only entries whose message contains this text. Case is ignored."),
  }),
  output: historyOf(watchdogEntry),
  problems: ["unavailable"],
});
