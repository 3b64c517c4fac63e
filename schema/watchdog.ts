import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const watchdogLevel = z.enum(["info", "warn", "error"]).meta({ id: "WatchdogLevel" });

/** Something that an operator should hear of. */
export const watchdogEntry = z
  .object({
    id: z.int(),
    level: watchdogLevel,
    message: z.string(),
    context: z.record(z.string(), z.unknown()).describe("Ids and reasons, by name."),
    created_at: timestamp,
  })
  .meta({ id: "WatchdogEntry" });

export const list = operation({
  id: "watchdog.list",
  http: "GET /api/watchdog",
  rpc: "MonitoringService.ListWatchdogEntries",
  summary: "List what the watchdog noticed, newest first. Needs WATCHDOG_ENABLED=true.",
  input: z.object({
    ...paging,
    level: watchdogLevel.optional().describe("Entries of this level only."),
    search: z.string().max(500).optional().describe("Entries whose message contains this text, in any case."),
  }),
  output: pageOf(watchdogEntry),
  problems: ["unavailable"],
});
