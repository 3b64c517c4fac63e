import { problem } from "@signalbox/schema/problem";
import * as watchdog from "@signalbox/schema/watchdog";
import { handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import { listEntries } from "./queries.ts";

/** While the watchdog is disabled, an empty list would wrongly suggest that there are no problems. */
export const watchdogOperation = (enabled: boolean, sources: () => Iterable<string>) =>
  handle(watchdog.list, async ({ subject, ...filter }, { sql }) => {
    if (!enabled) throw problem("unavailable", "The watchdog is disabled. Set WATCHDOG_ENABLED=true and restart the service.");
    return listEntries(sql, {
      ...filter,
      subjects: subject === undefined ? undefined : await findMeant(sql, subject, sources()),
    });
  });
