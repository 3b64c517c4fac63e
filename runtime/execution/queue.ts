import type { Bus } from "../platform/bus.ts";
import { batch } from "../platform/database/batch.ts";
import { isDeadlock, isUnavailable, isUniqueViolation } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { Failure, sleep } from "../platform/retry.ts";
import { type Claimed, claimExecutions, giveBack, nextDue, releaseExpired, renewLeases } from "./queries.ts";
import { type RunDeps, runExecution } from "./run.ts";
import { type Change, writeChanges } from "./steps/queries.ts";
import { LeaseLost, Transcript } from "./steps/transcript.ts";

export interface WorkerOptions extends RunDeps {
  readonly bus: Bus;
  readonly concurrency: number;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  /** This is the only process on the database: what runs at the start was left by a dead one. */
  readonly alone: boolean;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
}

export interface Worker {
  /** Executions wait: look now. */
  wake(): void;
  /** Takes nothing more, lets what runs end for up to `drainMs`, and gives back the rest. */
  stop(drainMs: number): Promise<void>;
  readonly running: () => number;
}

/** After so many dead workers an execution is failed: it may be what kills them. */
const mostDeaths = 5;
/** Longest sleep between two looks at the queue: the net under wake-ups that got lost. */
const sweepMs = 5_000;
/** Shortest one. */
const shortestWaitMs = 20;

export async function startQueue(options: WorkerOptions): Promise<Worker> {
  const { sql, log, bus } = options;
  const self = newId();
  const held = new Map<string, { execution: Claimed; abort: AbortController; done: Promise<void> }>();
  /** Let go because the database was away. It shows them as ours until it is told otherwise, or until their leases run out. */
  const orphans = new Map<string, Claimed>();
  const write = batch((changes: Change[]) => writeChanges(sql, changes), {
    maxItems: 64,
    beside: 16,
    concurrency: options.alone ? 1 : 4,
  });
  const stopping = new AbortController();
  let pending = true;
  let rouse = () => {};
  const wake = () => {
    pending = true;
    rouse();
  };
  bus.on("queue", wake);
  bus.on("cancel", (id) => held.get(id)?.abort.abort(new LeaseLost("cancelled")));

  const start = (execution: Claimed) => {
    // It was taken from us without our hearing of it, and is ours again: the earlier attempt can record nothing any more.
    held.get(execution.id)?.abort.abort(new LeaseLost("taken up again"));
    const abort = new AbortController();
    const done = carryOut(execution, abort.signal, write, options).then((ended) => {
      if (held.get(execution.id)?.abort === abort) held.delete(execution.id);
      if (ended === "orphaned") orphans.set(execution.id, execution);
      // Its subject is free, and so is its place.
      wake();
    });
    held.set(execution.id, { execution, abort, done });
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      const free = options.concurrency - held.size;
      pending = false;
      let wait = sweepMs;
      try {
        for (const [id, execution] of orphans) {
          await giveBack(sql, execution);
          orphans.delete(id);
        }
        const claimed = free > 0 ? await claimExecutions(sql, self, free, options.leaseSeconds) : [];
        for (const execution of claimed) start(execution);
        if (claimed.length > 0 && claimed.length === free) continue;
        // Fewer than there is place for is all that is due: when more is, is asked once these are on their way.
        if (claimed.length > 0) wait = shortestWaitMs;
        else if (free > 0) wait = Math.min(sweepMs, Math.max(shortestWaitMs, (await nextDue(sql)) ?? sweepMs));
      } catch (error) {
        // Another replica claimed the same subject first, or waited for us while we waited for it: look again.
        if (isUniqueViolation(error) || isDeadlock(error)) continue;
        log.warn("the queue could not be read", { error });
        wait = 1000;
      }
      if (!pending) {
        await new Promise<void>((done) => {
          const timer = setTimeout(done, wait);
          rouse = () => {
            clearTimeout(timer);
            done();
          };
        });
      }
    }
  };

  const keep = async () => {
    while (!keepGoing.signal.aborted) {
      await sleep((options.leaseSeconds * 1000) / 3, keepGoing.signal).catch(() => {});
      if (keepGoing.signal.aborted) return;
      try {
        const mine = [...held.values()];
        const leases = mine.map(({ execution }) => execution);
        const ours = mine.length > 0 ? await renewLeases(sql, leases, options.leaseSeconds) : new Set<string>();
        for (const { execution, abort } of mine)
          if (!ours.has(execution.id)) abort.abort(new LeaseLost("taken by another worker"));
        if ((await releaseExpired(sql, false)) > 0) wake();
      } catch (error) {
        log.warn("leases could not be renewed", { error });
      }
    }
  };

  await releaseExpired(sql, options.alone);
  const keepGoing = new AbortController();
  const taking = loop();
  const keeping = keep();
  return {
    wake,
    running: () => held.size,
    stop: async (drainMs) => {
      stopping.abort();
      rouse();
      // What a claim under way brings must drain, or be given back, like the rest.
      await taking;
      const all = Promise.allSettled([...held.values()].map(({ done }) => done));
      await Promise.race([all, new Promise((done) => setTimeout(done, drainMs).unref())]);
      const left = [...held.values()];
      for (const { execution, abort } of left) {
        abort.abort(new LeaseLost("stopped"));
        await giveBack(sql, execution).catch(() => {});
      }
      // Other replicas may take it up at once.
      if (left.length > 0) await bus.publish("queue").catch(() => {});
      keepGoing.abort();
      await keeping;
    },
  };
}

/**
 * One attempt at an execution, and what becomes of it. `orphaned`: nothing could be recorded, because the database went
 * away; it goes on behind its last step once it is given back.
 */
async function carryOut(
  execution: Claimed,
  signal: AbortSignal,
  write: (change: Change) => Promise<boolean>,
  options: WorkerOptions,
): Promise<"ended" | "orphaned"> {
  const log = options.log.with({ execution: execution.id, task: execution.task_id });
  let transcript: Transcript | undefined;
  try {
    // A first attempt has no transcript to read.
    transcript =
      execution.attempts > 1 ? await Transcript.open(options.sql, execution, write) : new Transcript(execution, [], write);
    if (execution.deaths >= mostDeaths)
      throw new Failure(`Its worker died ${execution.deaths} times while running it.`, { retryable: false });
    const outcome = await runExecution({ execution, transcript, signal }, { ...options, log });
    if (outcome !== "done") await options.bus.publish("gateway", outcome.offeredTo);
    else log.info("execution succeeded", { attempts: execution.attempts });
    return "ended";
  } catch (error) {
    if (error instanceof LeaseLost || signal.aborted) {
      log.warn("execution let go", { reason: String(signal.reason ?? error) });
      return "ended";
    }
    try {
      if (isUnavailable(error)) throw error;
      await fail(execution, error, transcript, options);
      return "ended";
    } catch (second) {
      log.warn("what became of an execution could not be recorded", { error: second });
      return isUnavailable(second) ? "orphaned" : "ended";
    }
  }
}

/** Longest that a model or a tracker may put an execution off: no limit of theirs lasts longer, a wrong header does. */
const longestAskedMs = 3_600_000;

async function fail(
  execution: Claimed,
  error: unknown,
  transcript: Transcript | undefined,
  options: WorkerOptions,
): Promise<void> {
  const failure = error instanceof Failure ? error : null;
  const message = failure?.message ?? "Something went wrong on our side; the service's log says what.";
  // What nobody foresaw may have been a passing thing; the transcript makes another try safe.
  const retry = (failure?.retryable ?? true) && execution.failures < options.retryLimit;
  const asked = Math.min(failure?.retryAfterMs ?? 0, longestAskedMs);
  if (!failure) options.log.error("execution failed unexpectedly", { execution: execution.id, error });
  const patch = retry
    ? {
        state: "queued" as const,
        delay_ms: Math.max(options.retryDelaySeconds * 1000 * 2 ** execution.failures, asked),
      }
    : { state: "failed" as const };
  const last = transcript?.steps.at(-1);
  if (last?.state === "started") transcript?.complete(last, { error: message });
  const agent_id = transcript?.steps[0]?.agent_id ?? null;
  await transcript?.flush({ ...transcript.totals(), ...patch, agent_id, error: message, failures: execution.failures + 1 });
  const context = { execution_id: execution.id, task_id: execution.task_id, error: message };
  if (retry) options.log.warn("execution will be tried again", { ...context, after_ms: patch.delay_ms });
  else options.watchdog("execution failed", context);
}
