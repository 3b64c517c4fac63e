import { Problem } from "@signalbox/schema/problem";
import { isUnavailable } from "../platform/database/client.ts";
import { releaseRow } from "../platform/lease-queries.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Loop } from "../platform/loop.ts";
import { type PollDeps, pollOnce, refusePoll } from "./poll.ts";
import { type ClaimedPollSource, claimDue, pollRows } from "./queries.ts";

interface SchedulerOptions extends PollDeps {
  readonly log: Log;
  readonly warn: Report;
  /** Duration of the lease of a source that a replica polls. */
  readonly leaseSeconds: number;
}

/** Maximum number of sources that one replica polls at the same time. */
const concurrency = 4;

/** Polls due sources, each on one replica. A source remains due if a stop interrupts its poll. */
export function startPolls(options: SchedulerOptions): Loop {
  const { sql, log, leaseSeconds } = options;
  return startLeasedWork({
    name: "a poll",
    sql,
    rows: pollRows,
    concurrency,
    leaseSeconds,
    log,
    claim: claimDue,
    handle: (source, signal, leaseLost) => pollLeased(source, signal, leaseLost, options),
  });
}

async function pollLeased(
  pollSource: ClaimedPollSource,
  signal: AbortSignal,
  leaseLost: AbortSignal,
  options: SchedulerOptions,
): Promise<void> {
  const { sql } = options;
  const log = options.log.with({ poll_source: pollSource.id, source: pollSource.source, project: pollSource.project_id });
  try {
    const result = await pollOnce(pollSource, pollSource.lease, signal, options);
    if (result.fetched > 0) log.info("polled", { ...result });
  } catch (error) {
    if (leaseLost.aborted) return log.warn("poll aborted: another replica has the source, or it was deleted");
    if (signal.aborted) return void (await releaseRow(sql, pollRows, pollSource).catch(() => {}));
    await record(pollSource, error, options).catch((second) => log.warn("failed to record a failed poll", { error: second }));
  }
}

/** If this fails too, the source is polled again after its lease has expired. */
async function record(pollSource: ClaimedPollSource, error: unknown, options: SchedulerOptions): Promise<void> {
  const context = { poll_source: pollSource.id, source: pollSource.source, project: pollSource.project_id };
  // Nothing can be stored now; the source remains due.
  if (isUnavailable(error)) return options.log.warn("the database was unavailable during a poll", { ...context, error });
  if (error instanceof Problem) {
    if (error.code !== "bad_gateway") await refusePoll(pollSource, error.message, options);
    return options.warn("poll failed", { ...context, error: error.message });
  }
  options.log.error("poll failed unexpectedly", { ...context, error });
  await refusePoll(pollSource, "Internal error; see the service's log.", options);
}
