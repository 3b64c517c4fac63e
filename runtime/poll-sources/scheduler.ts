import { Problem } from "@signalbox/schema/problem";
import { isUnavailable } from "../platform/database/client.ts";
import { startLeasedWork, type Worker } from "../platform/leases.ts";
import type { Log } from "../platform/log.ts";
import { type PollDeps, pollOnce, refusePoll } from "./poll.ts";
import { type Claimed, claimDue, nextDue, releaseLease, renewLease } from "./queries.ts";

export interface SchedulerOptions extends PollDeps {
  readonly log: Log;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  /** A replica that gives no sign of life for so long loses the source that it polls. */
  readonly leaseSeconds: number;
  /** Longest sleep between two looks, milliseconds. */
  readonly sweepMs?: number;
}

/** Sources that one replica polls at the same time. */
const concurrency = 4;

/** Polls what is due, one replica each source. Polls that a stop ends leave their sources due. */
export function startScheduler(options: SchedulerOptions): Worker {
  const { sql, log, leaseSeconds, sweepMs } = options;
  return startLeasedWork<Claimed>({
    ...{ name: "a poll", concurrency, leaseSeconds, sweepMs, log },
    claim: (lease) => claimDue(sql, lease, leaseSeconds),
    untilDue: () => nextDue(sql),
    renew: ({ id, lease }) => renewLease(sql, id, lease, leaseSeconds),
    carryOut: (source, lost, stopping) => carryOut(source, lost, stopping, options),
  });
}

async function carryOut(source: Claimed, lost: AbortSignal, stopping: AbortSignal, options: SchedulerOptions): Promise<void> {
  const { sql } = options;
  const log = options.log.with({ poll_source: source.id, source: source.source, project: source.project_id });
  try {
    const result = await pollOnce(source, source.lease, AbortSignal.any([stopping, lost]), options);
    if (result.fetched > 0) log.info("polled", { ...result });
  } catch (error) {
    if (lost.aborted) return log.warn("poll let go: another replica has the source, or it was deleted");
    if (stopping.aborted) return void (await releaseLease(sql, source.id, source.lease).catch(() => {}));
    await record(source, error, options).catch((second) => log.warn("a failed poll could not be recorded", { error: second }));
  }
}

/** Without a record the source would be polled again at once; the lease then makes it wait. */
async function record(source: Claimed, error: unknown, options: SchedulerOptions): Promise<void> {
  const context = { poll_source: source.id, source: source.source, project: source.project_id };
  // Nothing can be recorded now; the source stays due.
  if (isUnavailable(error)) return options.log.warn("the database went away during a poll", { ...context, error });
  if (error instanceof Problem) {
    if (error.code !== "bad_gateway") await refusePoll(source, error.message, options);
    return options.watchdog("poll failed", { ...context, error: error.message });
  }
  options.log.error("poll failed unexpectedly", { ...context, error });
  await refusePoll(source, "Something went wrong on our side; the service's log says what.", options);
}
