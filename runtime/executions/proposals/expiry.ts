import { recordDecision } from "../../audit/record-decision.ts";
import type { Sql } from "../../platform/database/client.ts";
import type { Log } from "../../platform/log.ts";
import { type Loop, startLoop } from "../../platform/loop.ts";
import { endLocked, findExpired, nextExpiry } from "./queries.ts";

/** Maximum sleep between two checks, in milliseconds. */
const sweepMs = 5_000;
const minWaitMs = 50;

/** Ends executions whose proposals were not decided in time. An approval checks the time itself. */
export function startExpiry(sql: Sql, log: Log): Loop {
  const run = async () => {
    const expiredId = await sql.begin(async (tx) => {
      const id = await findExpired(tx);
      if (id === undefined) return undefined;
      await endLocked(tx, id, { state: "expired", by: null, error: "It was not approved in time." });
      await recordDecision(tx, { actor: "signalbox", operation: "task-executions.expire", executionId: id, reason: "" });
      return id;
    });
    if (expiredId === undefined) return { pauseMs: Math.min(sweepMs, Math.max(minWaitMs, (await nextExpiry(sql)) ?? sweepMs)) };
    log.info("proposals expired; the execution is cancelled", { execution_id: expiredId });
    return { pauseMs: 0 };
  };
  return startLoop({
    everyMs: sweepMs,
    firstMs: 0,
    run,
    onError: (error) => log.warn("failed to end expired proposals", { error }),
  });
}
