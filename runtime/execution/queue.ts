import type { Breakers } from "../breakers/breakers.ts";
import { abortable } from "../platform/abortable.ts";
import { isDeadlock, isUniqueViolation } from "../platform/database/client.ts";
import { type Loop, type Pause, startLoop } from "../platform/loop.ts";
import { sleep } from "../platform/retry.ts";
import { type AttemptDeps, attemptExecution } from "./attempt.ts";
import { ClaimPace, isBusy } from "./claim-pace.ts";
import { FairShare, type Owners } from "./fair-share.ts";
import { Lease } from "./lease.ts";
import { releaseLost } from "./lease-queries.ts";
import { LeasedExecutions } from "./leased-executions.ts";
import type { LiveWorkers } from "./live-workers.ts";
import { Overflow } from "./overflow.ts";
import { type ClaimedExecution, type ClaimRequest, claimExecutions, nextDue } from "./queries.ts";
import { groupedWrites } from "./steps/grouped-writes.ts";
import { windowMsOf } from "./write-window.ts";

interface QueueOptions extends Omit<AttemptDeps, "write" | "writeAgain"> {
  readonly concurrency: number;
  readonly leaseSeconds: number;
  /**
   * Whether this is the only process on the database. Then executions that are running at its start belong to a process that
   * died.
   */
  readonly onlyProcess: boolean;
  readonly breakers: Breakers;
  readonly workers: LiveWorkers;
  /** Lets other replicas claim. */
  readonly wakeOthers: () => void;
}

/** Maximum number of executions in one claim, so that a replica that has just started leaves some to the others. */
const maxClaimed = 64;
/** Maximum sleep between two looks at the queue, in case a wake-up is lost. */
const sweepMs = 5_000;
const minSleepMs = 20;
/** Maximum sleep while executions wait for other executions of the same subject, possibly on another replica. */
const maxRecheckMs = 320;
/** Pause after a claim that found too few executions while a breaker is open. */
const breakerPauseMs = 100;
/** Part of the stop's time that is reserved for releasing unfinished executions. */
const releaseMs = 3_000;

export async function startQueue(options: QueueOptions): Promise<ExecutionQueue> {
  await releaseLost(options.sql, options.onlyProcess ? "all" : "expired");
  return new ExecutionQueue(options);
}

/** Claims executions and runs them under leases, which other replicas respect. Claims nothing before `begin`. */
class ExecutionQueue {
  readonly #options: QueueOptions;
  readonly #deps: AttemptDeps;
  readonly #windowMs: number;
  readonly #leased: LeasedExecutions;
  readonly #stopping = new AbortController();
  #stopBegan = 0;
  #claims: Loop | null = null;
  #renewals: Loop | null = null;
  readonly #pace: ClaimPace;
  readonly #share: FairShare;
  readonly #overflow: Overflow;
  /**
   * What the next run of the loop does: `look` for what is due, because the last claim left slots free; otherwise `claim`. `idle`: it
   * claims, but the end of an execution does not wake it, because the last look found nothing that is due.
   */
  #next: "claim" | "look" | "idle" = "claim";
  /** Next sleep while executions are due but none can be claimed. */
  #recheckMs = minSleepMs;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#windowMs = windowMsOf(options.leaseSeconds);
    this.#pace = new ClaimPace(options.concurrency);
    this.#share = new FairShare(options.concurrency);
    this.#overflow = new Overflow(options.wakeOthers);
    this.#deps = { ...options, ...groupedWrites(options) };
    this.#leased = new LeasedExecutions({
      ...options,
      windowMs: this.#windowMs,
      wake: () => this.wake(),
      onFreed: () => this.#next === "claim" && this.wake(),
    });
    options.bus.on("queue", () => this.wake());
    options.bus.on("cancel", (id) => this.#leased.cancel(id));
  }

  /**
   * Starts to claim. Call it once the service accepts requests, because during its start the process is too busy to renew leases
   * in time.
   */
  begin(): void {
    this.#claims = startLoop({
      everyMs: sweepMs,
      firstMs: 0,
      run: async (_, isWoken) => ({ pauseMs: await this.#claim(isWoken) }),
      onError: (error) => this.#claimFailed(error),
    });
    this.#renewals = this.#leased.startRenewing();
    this.#options.workers.watch(
      (deadWorkers) => this.#releaseExecutionsOf(deadWorkers),
      async () => void ((await releaseLost(this.#options.sql, "expired")) > 0 && this.wake()),
    );
  }

  readonly running = (): number => this.#leased.size;

  /** Claims now, because executions wait. */
  wake(): void {
    this.#next = "claim";
    this.#claims?.wake();
  }

  /** Claims executions that this replica has stored, now or when they are due (`isDelayed`), or lets others claim them. */
  takeStored(newcomer?: Owners, isDelayed = false): void {
    if (newcomer) this.#share.makeRoomFor(newcomer);
    this.#overflow.add({ hasFreeSlots: this.#hasFreeSlots(), isDelayed });
    this.wake();
  }

  /** Claims nothing more, and lets running executions end after the write in flight. */
  stopClaiming(): void {
    const reason = new Error("the service is stopping");
    this.#stopBegan ||= performance.now();
    this.#stopping.abort(reason);
    this.#leased.stop(reason);
  }

  /** Finishes the writes in flight and queues all other executions again: within `drainMs` of `stopClaiming`, or in 3 seconds. */
  async stop(drainMs: number): Promise<void> {
    this.stopClaiming();
    const drainDeadline = AbortSignal.timeout(Math.max(0, Math.round(this.#stopBegan + drainMs - releaseMs - performance.now())));
    const drain = async () => {
      // A claim in flight may still return executions.
      await this.#claims?.stop();
      await this.#leased.whenEnded();
    };
    await abortable(drain(), drainDeadline).catch(() => {});
    this.#leased.interruptAll("the service is stopping");
    // Other replicas can take them immediately.
    const release = async () => (await this.#leased.release()) && (await this.#options.bus.publish("queue"));
    await abortable(release(), AbortSignal.timeout(releaseMs)).catch((error) =>
      this.#options.log.warn("failed to release executions; other replicas take them when their leases expire", { error }),
    );
    await this.#renewals?.stop();
  }

  #hasFreeSlots(): boolean {
    return !this.#stopping.signal.aborted && this.#leased.size < this.#options.concurrency;
  }

  #claimFailed(error: unknown): Pause {
    // Another replica claimed the same subject first, or both waited for each other's locks: claim again.
    if (isUniqueViolation(error) || isDeadlock(error)) return { pauseMs: 0 };
    this.#options.log.warn("failed to claim executions", { error });
    return { pauseMs: 1_000 };
  }

  /** Queues the executions of workers that have ended, without waiting for their leases. */
  async #releaseExecutionsOf(deadWorkers: readonly string[]): Promise<void> {
    const { sql, log } = this.#options;
    const executions = await releaseLost(sql, { workers: deadWorkers });
    if (executions === 0) return;
    const details = { workers: deadWorkers.length, executions };
    log.warn("workers exited without releasing their executions, which are queued again", details);
    this.wake();
  }

  /** Claims as many executions as there are free slots. Returns how long to sleep before the next claim or look, milliseconds. */
  async #claim(isWoken: () => boolean): Promise<number> {
    const { log, concurrency, breakers } = this.#options;
    const isLook = this.#next === "look";
    this.#next = "claim";
    if (isLook) return this.#untilDue({ hasClaimed: true });
    await this.#leased.release().catch((error) => log.warn("failed to release interrupted executions", { error }));
    const waitMs = this.#pace.waitMs(this.#leased.size);
    if (waitMs > 0) await sleep(waitMs, this.#stopping.signal).catch(() => {});
    // A stop may have begun meanwhile: the executions that it interrupted must not be claimed again here.
    const free = this.#stopping.signal.aborted ? 0 : Math.min(maxClaimed, concurrency - this.#leased.size);
    if (free <= 0) return Math.min(sweepMs, this.#overflow.whileFull());
    const claimed = await this.#claimInto(free);
    if (claimed === free) return 0;
    if (claimed === 0) return this.#untilDue({ hasClaimed: false });
    // A look at once would delay the requests of the executions that begin now, and the next claim may make it superfluous.
    if (!isWoken() && !breakers.any && !isBusy(this.#leased.size)) this.#next = "look";
    return minSleepMs;
  }

  /** Claims at most this many executions and starts them. Returns their number. */
  async #claimInto(free: number): Promise<number> {
    const { sql, leaseSeconds } = this.#options;
    const askedAt = this.#pace.startClaim();
    const endOverflow = this.#overflow.startClaim();
    const claimedExecutions = await claimExecutions(sql, this.#request(free));
    const mayRun = ({ state }: ClaimedExecution) => state === "running";
    // First, because their leases have begun.
    for (const execution of claimedExecutions.filter(mayRun)) this.#start(execution, new Lease(leaseSeconds, askedAt));
    for (const execution of claimedExecutions) if (!mayRun(execution)) await this.#options.onHeld(execution);
    endOverflow({ isDrained: claimedExecutions.length < free, hasFreeSlots: this.#hasFreeSlots() });
    this.#share.recordClaim(claimedExecutions, this.#leased.executions());
    this.#pace.recordClaim(claimedExecutions.length === free);
    if (claimedExecutions.length > 0) this.#recheckMs = minSleepMs;
    return claimedExecutions.length;
  }

  /** How long to sleep after a claim that left slots free: until the next execution or probe is due, milliseconds. */
  async #untilDue({ hasClaimed }: { readonly hasClaimed: boolean }): Promise<number> {
    const { sql, breakers } = this.#options;
    const probe = await this.#probe();
    const due = await this.#overflow.look(() => nextDue(sql));
    if (due === null || due > 0) {
      // Executions that wait for a breaker are not due, but one may become due when a running execution ends.
      if (!breakers.any) this.#next = "idle";
      return Math.min(sweepMs, Math.max(minSleepMs, Math.min(due ?? sweepMs, probe ?? sweepMs)));
    }
    if (hasClaimed) return 0;
    // An execution is due but waits for another one of its subject, possibly on another replica: look again, less and less often.
    const again = this.#recheckMs;
    this.#recheckMs = Math.min(maxRecheckMs, 2 * again);
    return Math.min(again, Math.max(minSleepMs, probe ?? again));
  }

  /**
   * While a breaker is open, lets one execution at a time probe it. Returns the time until the next probe is due, in
   * milliseconds.
   */
  async #probe(): Promise<number | null> {
    const { breakers } = this.#options;
    if (!breakers.any) return null;
    // While a breaker is open, a claim examines all waiting executions, so not every webhook may cause one.
    await sleep(breakerPauseMs, this.#stopping.signal).catch(() => {});
    return breakers.admit();
  }

  #request(maxExecutions: number): ClaimRequest {
    const { leaseSeconds, settings, workers } = this.#options;
    return {
      worker: workers.worker,
      maxExecutions,
      leaseSeconds,
      limits: settings,
      share: this.#share.startClaim(),
      leasedExecutions: this.#leased.executions(),
    };
  }

  #start(execution: ClaimedExecution, lease: Lease): void {
    const windowMs = this.#windowMs;
    this.#leased.add(execution, lease, (stopSignal) => attemptExecution(execution, { lease, stopSignal, windowMs }, this.#deps));
  }
}
