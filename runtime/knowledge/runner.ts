import { redact } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import { isUnavailable } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log } from "../platform/log.ts";
import { toFailure } from "../platform/reconcile.ts";
import type { Vault } from "../platform/vault.ts";
import type { KnowledgeEntry } from "../plugins/host.ts";
import { hostsIn } from "../plugins/settings-hosts.ts";
import type { Reach } from "./egress-allowlist.ts";
import { type IngestDeps, ingest, LostJob } from "./ingest.ts";
import * as jobs from "./job-queries.ts";
import { openSource } from "./open-source.ts";
import { findSource } from "./queries.ts";

export interface RunnerOptions extends IngestDeps {
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly knowledge: ReadonlyMap<string, KnowledgeEntry>;
  readonly reach: Reach;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  /** A replica that gives no sign of life for so long loses the job that it works on. */
  readonly leaseSeconds: number;
  /** Between two syncs of an enabled source; 0: on demand only. */
  readonly everyMinutes: number;
  /** Longest sleep between two looks, milliseconds. */
  readonly sweepMs?: number;
}

/** Jobs that one replica works on at the same time. */
const concurrency = 2;
/** Failures without progress between them, after which a job is given up. */
const tries = 6;
const firstWaitMs = 5_000;
const longestWaitMs = 3_600_000;

/** Works on the jobs of knowledge sources, one replica on each. */
export function startRunner(options: RunnerOptions): { stop(): Promise<void> } {
  const { sql, bus, log, leaseSeconds, sweepMs, everyMinutes } = options;
  const worker = startLeasedWork<jobs.ClaimedJob>({
    ...{ name: "a sync", concurrency, leaseSeconds, sweepMs, log },
    ...(everyMinutes > 0 && { prepare: () => jobs.openDueJobs(sql, everyMinutes, newId) }),
    claim: (lease) => jobs.claimJob(sql, lease, leaseSeconds),
    untilDue: () => jobs.nextJob(sql),
    renew: (job) => jobs.renewJob(sql, job, leaseSeconds),
    carryOut: (job, lost, stopping) => carryOut(job, lost, stopping, options),
  });
  bus.on("knowledge", worker.wake);
  return worker;
}

async function carryOut(job: jobs.ClaimedJob, lost: AbortSignal, stopping: AbortSignal, options: RunnerOptions): Promise<void> {
  const { sql } = options;
  const log = options.log.with({ knowledge_source: job.knowledge_source_id, job: job.id });
  try {
    const note = await work(job, AbortSignal.any([stopping, lost]), options);
    if (await jobs.succeedJob(sql, job, note)) log.info("a knowledge source was synced", { ...(note !== null && { note }) });
  } catch (error) {
    if (lost.aborted || error instanceof LostJob) return log.warn("a sync was let go: another replica has it");
    if (stopping.aborted) return void (await jobs.releaseJob(sql, job).catch(() => {}));
    await record(job, error, options).catch((second) => log.warn("a failed sync could not be recorded", { error: second }));
  }
}

/** A failure whose message may be shown: a connector's, without the secrets that it was given. */
class SourceFailure extends Error {
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: { retryable: boolean; retryAfterMs?: number | undefined; cause: unknown }) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

async function work(job: jobs.ClaimedJob, signal: AbortSignal, options: RunnerOptions): Promise<string | null> {
  const row = await findSource(options.sql, job.knowledge_source_id);
  if (!row) throw new LostJob("the source is gone");
  const source = await openSource(row, options).catch((error) => {
    throw new SourceFailure(`The source cannot be read: ${error.message}`, { retryable: false, cause: error });
  });
  const close = options.reach.open(source.plugin, hostsIn(source.settings));
  try {
    const unread = await ingest(job, source, signal, options);
    if (unread.size === 0) return null;
    const [[id, reason] = []] = unread;
    const text = `${unread.size} page${unread.size > 1 ? "s" : ""} could not be read; the first is ${id}: ${reason}`;
    return storableText(redact(text, source.hidden));
  } catch (error) {
    if (signal.aborted || error instanceof LostJob || !isConnectors(error)) throw error;
    const failure = toFailure(error);
    const message = storableText(redact(failure.message, source.hidden));
    throw new SourceFailure(message, { retryable: failure.retryable, retryAfterMs: failure.retryAfterMs, cause: error });
  } finally {
    close();
  }
}

/** A failure in the shape that plugins throw, or a deadline that one did not keep. */
const isConnectors = (error: unknown): boolean =>
  error instanceof Error && (["PluginError", "TimeoutError"].includes(error.name) || "retryable" in error);

async function record(job: jobs.ClaimedJob, error: unknown, { sql, log, watchdog }: RunnerOptions): Promise<void> {
  const context = { knowledge_source: job.knowledge_source_id, job: job.id };
  // Nothing can be recorded now; the lease ends by itself.
  if (isUnavailable(error)) return log.warn("the database went away during a sync", { ...context, error });
  const failure = error instanceof SourceFailure ? error : null;
  if (!failure) log.error("a sync failed unexpectedly", { ...context, error });
  const message = failure?.message ?? "Something went wrong on our side; the service's log says what.";
  // Progress since the claim began the count anew, which this replica did not read.
  const attempts = (await jobs.attemptsOf(sql, job)) + 1;
  if (failure?.retryable === false || attempts >= tries) {
    await jobs.failJob(sql, job, message);
    return watchdog("a knowledge source could not be synced", { ...context, error: message });
  }
  const wait = Math.max(failure?.retryAfterMs ?? 0, firstWaitMs * 2 ** (attempts - 1));
  await jobs.postponeJob(sql, job, message, Math.min(wait, longestWaitMs));
}
