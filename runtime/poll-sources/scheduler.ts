import { Problem } from "@signalbox/schema/problem";
import { pause } from "../agent/attempts.ts";
import { isUnavailable } from "../database/client.ts";
import { newId } from "../ids.ts";
import type { Log } from "../log.ts";
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

export interface Scheduler {
  wake(): void;
  /** Ends polls under way; their sources stay due. */
  stop(): Promise<void>;
}

/** Sources that one replica polls at the same time. */
const concurrency = 4;

/** Polls what is due. A source is polled by the replica that holds its lease, and taken over when that one dies. */
export function startScheduler(options: SchedulerOptions): Scheduler {
  const { sql, log, leaseSeconds, sweepMs = 15_000 } = options;
  const stopping = new AbortController();
  const held = new Set<Promise<void>>();
  let rouse = new AbortController();
  const wake = () => rouse.abort();

  const loop = async () => {
    while (!stopping.signal.aborted) {
      rouse = new AbortController();
      let wait = sweepMs;
      try {
        const claimed = held.size < concurrency ? await claimDue(sql, newId(), leaseSeconds) : undefined;
        if (claimed) {
          const run = carryOut(claimed, stopping.signal, options).finally(() => {
            held.delete(run);
            wake();
          });
          held.add(run);
          continue;
        }
        if (held.size < concurrency) wait = Math.min(sweepMs, Math.max(50, (await nextDue(sql)) ?? sweepMs));
      } catch (error) {
        log.warn("poll sources could not be read", { error });
      }
      await pause(wait, AbortSignal.any([rouse.signal, stopping.signal])).catch(() => {});
    }
  };

  const running = loop();
  return {
    wake,
    stop: async () => {
      stopping.abort();
      await running;
      await Promise.allSettled(held);
    },
  };
}

async function carryOut(source: Claimed, stopping: AbortSignal, options: SchedulerOptions): Promise<void> {
  const { sql } = options;
  const log = options.log.with({ poll_source: source.id, source: source.source, project: source.project_id });
  const ended = new AbortController();
  const lost = new AbortController();
  const keeping = keep(source, ended.signal, lost, options);
  try {
    const result = await pollOnce(source, source.lease, AbortSignal.any([stopping, lost.signal]), options);
    if (result.fetched > 0) log.info("polled", { ...result });
  } catch (error) {
    if (lost.signal.aborted) return log.warn("poll let go: another replica has the source, or it was deleted");
    if (stopping.aborted) return void (await releaseLease(sql, source.id, source.lease).catch(() => {}));
    await record(source, error, options).catch((second) => log.warn("a failed poll could not be recorded", { error: second }));
  } finally {
    ended.abort();
    await keeping;
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

async function keep(source: Claimed, ended: AbortSignal, lost: AbortController, options: SchedulerOptions): Promise<void> {
  while (!ended.aborted) {
    await pause((options.leaseSeconds * 1000) / 3, ended).catch(() => {});
    if (ended.aborted) return;
    try {
      if (!(await renewLease(options.sql, source.id, source.lease, options.leaseSeconds))) return lost.abort();
    } catch (error) {
      options.log.warn("the lease of a poll could not be renewed", { error });
    }
  }
}
