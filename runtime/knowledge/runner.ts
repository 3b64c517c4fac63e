import { redact } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import { isUnavailable } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import { releaseRow } from "../platform/lease-queries.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log, Report } from "../platform/log.ts";
import { toFailure } from "../platform/remote-calls.ts";
import type { Vault } from "../platform/vault.ts";
import type { KnowledgeEntry } from "../plugins/host.ts";
import { hostsIn } from "../plugins/settings-hosts.ts";
import type { EgressAllowlist } from "./egress-allowlist.ts";
import { type IngestDeps, ingest, LostJob } from "./ingest.ts";
import * as jobs from "./job-queries.ts";
import { openSource } from "./open-source.ts";
import { findSource } from "./queries.ts";

interface RunnerOptions extends IngestDeps {
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
  readonly knowledge: ReadonlyMap<string, KnowledgeEntry>;
  readonly egress: EgressAllowlist;
  readonly warn: Report;
  /** A replica that does not renew its lease for this long loses its job, seconds. */
  readonly leaseSeconds: number;
  /** Interval between two syncs of an enabled source, minutes; 0: on demand only. */
  readonly everyMinutes: number;
  /** Maximum interval between two checks for due work, in milliseconds. */
  readonly sweepMs?: number;
}

/** Concurrent jobs of one replica. */
const concurrency = 2;
/** Consecutive failures without progress after which a job fails. */
const tries = 6;
const firstWaitMs = 5_000;
const maxWaitMs = 3_600_000;

/** Runs the jobs of knowledge sources, each on one replica at a time. */
export function startSyncs(options: RunnerOptions): { stop(): Promise<void> } {
  const { sql, bus, log, leaseSeconds, sweepMs, everyMinutes } = options;
  const worker = startLeasedWork({
    name: "a sync",
    sql,
    rows: jobs.jobRows,
    concurrency,
    leaseSeconds,
    sweepMs,
    log,
    ...(everyMinutes > 0 && { prepare: () => jobs.openDueJobs(sql, everyMinutes, newId) }),
    claim: jobs.claimJob,
    handle: (job, signal, leaseLost) => syncLeased(job, signal, leaseLost, options),
  });
  bus.on("knowledge", worker.wake);
  return worker;
}

async function syncLeased(
  job: jobs.ClaimedJob,
  signal: AbortSignal,
  leaseLost: AbortSignal,
  options: RunnerOptions,
): Promise<void> {
  const { sql } = options;
  const log = options.log.with({ knowledge_source_id: job.knowledge_source_id, job_id: job.id });
  try {
    const note = await work(job, signal, options);
    if (await jobs.succeedJob(sql, job, note)) log.info("knowledge source synced", { ...(note !== null && { note }) });
  } catch (error) {
    if (error instanceof LostJob) return log.warn(`sync stopped: ${error.message}`);
    if (leaseLost.aborted) return log.warn("sync stopped: this replica lost its lease on the job");
    if (signal.aborted) return void (await releaseRow(sql, jobs.jobRows, job).catch(() => {}));
    await record(job, error, options).catch((second) => log.warn("failed to record the failure of a sync", { error: second }));
  }
}

/** A failure whose message is safe to show: a connector's, with its secrets masked. */
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
  if (!row) throw new LostJob("the source was deleted");
  const source = await openSource(row, options).catch((error) => {
    throw new SourceFailure(`Failed to read the source: ${error.message}`, { retryable: false, cause: error });
  });
  const close = options.egress.open(source.plugin, hostsIn(source.settings));
  try {
    const failedPages = await ingest(job, source, signal, options);
    if (failedPages.size === 0) return null;
    const [[id, reason] = []] = failedPages;
    const text = `failed to read ${failedPages.size} page${failedPages.size > 1 ? "s" : ""}; first ${id}: ${reason}`;
    return storableText(redact(text, source.secretValues));
  } catch (error) {
    if (signal.aborted || error instanceof LostJob || !isConnectors(error)) throw error;
    const failure = toFailure(error);
    const message = storableText(redact(failure.message, source.secretValues));
    throw new SourceFailure(message, { retryable: failure.retryable, retryAfterMs: failure.retryAfterMs, cause: error });
  } finally {
    close();
  }
}

/** An error in the shape that plugins throw, or a missed deadline. */
const isConnectors = (error: unknown): boolean =>
  error instanceof Error && (["PluginError", "TimeoutError"].includes(error.name) || "retryable" in error);

async function record(job: jobs.ClaimedJob, error: unknown, { sql, log, warn }: RunnerOptions): Promise<void> {
  const context = { knowledge_source_id: job.knowledge_source_id, job_id: job.id };
  // Nothing can be recorded now; the lease expires on its own.
  if (isUnavailable(error)) return log.warn("database unavailable during a sync", { ...context, error });
  const failure = error instanceof SourceFailure ? error : null;
  if (!failure) log.error("a sync failed unexpectedly", { ...context, error });
  const message = failure?.message ?? "Internal error; see the service's log.";
  // Progress since the claim reset the count in the database; this replica's copy is stale.
  const attempts = (await jobs.attemptsOf(sql, job)) + 1;
  if (failure?.retryable === false || attempts >= tries) {
    await jobs.failJob(sql, job, message);
    return warn("knowledge source sync failed", { ...context, error: message });
  }
  const wait = Math.max(failure?.retryAfterMs ?? 0, firstWaitMs * 2 ** (attempts - 1));
  await jobs.postponeJob(sql, job, message, Math.min(wait, maxWaitMs));
}
