import type { Output } from "@signalbox/schema/operation";
import type { get } from "@signalbox/schema/status";
import { raceTimeout } from "../platform/abortable.ts";
import { causeOf } from "../platform/error-text.ts";

export type Check = Output<typeof get>["checks"][number];
/** The result of a check. */
export interface Finding {
  readonly name: string;
  readonly state: Exclude<Check["state"], "unknown">;
  readonly message: string;
  readonly next_try_at?: string | null;
  readonly connection?: Check["connection"];
}

/** Checks that one probe makes together. */
export interface Probe {
  readonly name: string;
  /** Maximum age of its findings, in milliseconds. */
  readonly everyMs: number;
  /**
   * Set if it contacts the checked part itself, so that it is repeated every `everyMs` while the check fails. Absent if it only
   * reads results that others have stored.
   */
  readonly asks?: true;
  /** If it rejects, the check of its name has failed. */
  readonly run: (signal: AbortSignal) => Promise<readonly Finding[]>;
}

/** Maximum duration of one probe, in milliseconds. */
const limitMs = 10_000;
/** Maximum time that a reader waits for findings that are missing or old, in milliseconds. */
const waitMs = 1_500;
/** Interval at which old findings are renewed while no one reads them, in milliseconds. */
const sweepMs = 60_000;

/** Age of findings of a check that could not be made. */
const brokenAt = -Number.MAX_VALUE;

const unfinished = (name: string): Check => ({
  name,
  state: "unknown",
  since: new Date().toISOString(),
  message: "the check has not finished yet",
  next_try_at: null,
  connection: null,
});

interface ProbeState {
  findings: readonly Check[];
  checkedAt: number;
  currentCheck: Promise<void> | null;
  timer?: ReturnType<typeof setTimeout>;
}

/** Caches the findings of the probes, so that reading them is fast, and since when each check has its state. */
export class Board {
  readonly #states = new Map<Probe, ProbeState>();
  readonly #stop = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(probes: readonly Probe[]) {
    for (const probe of probes)
      this.#states.set(probe, { findings: [], checkedAt: Number.NEGATIVE_INFINITY, currentCheck: null });
    this.#timer = setInterval(() => this.#renew(), sweepMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { timer } of this.#states.values()) clearTimeout(timer);
    this.#stop.abort();
  }

  /** The findings. Renews old ones in the background, and waits briefly for those that are much too old. */
  async read(): Promise<Check[]> {
    const late = this.#renew();
    if (late.length > 0) await raceTimeout(Promise.all(late), waitMs, null);
    return [...this.#states].flatMap(([{ name }, { findings, checkedAt }]) =>
      checkedAt === Number.NEGATIVE_INFINITY ? [unfinished(name)] : findings,
    );
  }

  /** Starts the probes whose findings are old; returns those that a reader should wait for. */
  #renew(): Promise<void>[] {
    return [...this.#states].flatMap(([probe, probeState]) => {
      const age = performance.now() - probeState.checkedAt;
      if (age > probe.everyMs) probeState.currentCheck ??= this.#run(probe, probeState);
      return probeState.currentCheck && age > 2 * probe.everyMs ? [probeState.currentCheck] : [];
    });
  }

  async #run(probe: Probe, probeState: ProbeState): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(limitMs)]);
    const failed = (error: unknown): Finding[] => [{ name: probe.name, state: "failed", message: causeOf(error) }];
    const aborted = new Promise<never>((_, fail) => {
      signal.addEventListener("abort", () => fail(new Error(`no answer within ${limitMs / 1000} s`)), { once: true });
    });
    let isBroken = false;
    const findings = await Promise.race([probe.run(signal), aborted]).catch((error: unknown) => {
      isBroken = true;
      return failed(error);
    });
    const now = Date.now();
    const again = probe.asks && findings.some(({ state }) => state !== "ok");
    const next = again ? new Date(now + probe.everyMs).toISOString() : null;
    probeState.findings = findings.map((one) => {
      const before = probeState.findings.find(({ name }) => name === one.name);
      const since = before?.state === one.state ? before.since : new Date(now).toISOString();
      return { connection: null, ...one, next_try_at: one.next_try_at ?? (one.state === "ok" ? null : next), since };
    });
    // A check that could not be made says nothing about its subject, so the next reader has it made again.
    probeState.checkedAt = isBroken ? brokenAt : performance.now();
    probeState.currentCheck = null;
    if (again) this.#askAgain(probe, probeState);
  }

  #askAgain(probe: Probe, probeState: ProbeState): void {
    clearTimeout(probeState.timer);
    probeState.timer = setTimeout(() => {
      if (!this.#stop.signal.aborted) probeState.currentCheck ??= this.#run(probe, probeState);
    }, probe.everyMs);
    probeState.timer.unref();
  }
}
