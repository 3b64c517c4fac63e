import { recordDecision } from "../../audit/record-decision.ts";
import type { Sql } from "../../platform/database/client.ts";
import { startLeasedWork, type Worker } from "../../platform/leases.ts";
import type { Log } from "../../platform/log.ts";
import { endLocked, findExpired, nextExpiry } from "./queries.ts";

/** Longest sleep between two looks, milliseconds. */
const sweepMs = 5_000;

/** Ends executions whose proposals were not decided on in time. An approval checks the time itself. */
export function startExpiry(sql: Sql, log: Log): Worker {
  return startLeasedWork<string>({
    name: "proposals that expire",
    concurrency: 1,
    leaseSeconds: 30,
    sweepMs,
    log,
    claim: () =>
      sql.begin(async (tx) => {
        const id = await findExpired(tx);
        if (id === undefined) return undefined;
        await endLocked(tx, id, { state: "expired", by: null, error: "It was not approved in time." });
        await recordDecision(tx, { actor: "signalbox", operation: "task-executions.expire", executionId: id, reason: "" });
        return id;
      }),
    untilDue: () => nextExpiry(sql),
    renew: async () => true,
    carryOut: async (id) => log.info("proposals expired; the execution is cancelled", { execution: id }),
  });
}
