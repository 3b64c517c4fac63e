import { PluginError } from "@signalbox/sdk";
import { abortable } from "../../platform/abortable.ts";
import { messageOf } from "../../platform/error-text.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { Refusal } from "../admit.ts";
import type { Caller, CallOptions, Target } from "./caller.ts";
import type { Sandbox } from "./open.ts";

/**
 * State of a plugin's process. `degraded`: it is running, but crashed within the last ten minutes. `backoff`: it waits for its
 * next start. `quarantined`: it crashed too often or cannot start; an operator must enable it again. If this machine cannot run
 * plugins (`NO_SANDBOX`), the process waits, too, because other replicas may be able to.
 */
export type ProcessState = "starting" | "ready" | "degraded" | "backoff" | "quarantined" | "stopped";
export interface ProcessStatus {
  readonly state: ProcessState;
  /** Why it is not running: a code and a sentence. */
  readonly code: string | null;
  readonly reason: string | null;
  /** Crashes in the last ten minutes. */
  readonly crashes: number;
  /** Resident memory, bytes. */
  readonly memory: number | null;
  readonly pid: number | null;
}

interface SuperviseOptions {
  readonly name: string;
  readonly open: () => Promise<Sandbox>;
  /** Maximum number of concurrent calls; further ones wait in a queue. */
  readonly concurrency: number;
  readonly onStatus: (status: ProcessStatus) => void;
  readonly times?: Partial<typeof defaultTimes>;
}

/** Time after which to retry if only an operator can bring the plugin back: longer than any caller waits. */
const operatorMs = 300_000;
/** Milliseconds, and counts. */
const defaultTimes = { firstBackoff: 1_000, maxBackoff: 60_000, window: 600_000, crashes: 5 };
/** Errors of the plugin that another start cannot fix. */
const permanentErrors: readonly string[] = [
  "NOT_A_PLUGIN",
  "UNKNOWN_CONTRACT",
  "UNKNOWN_PROTOCOL",
  "SDK_RANGE",
  "BAD_CONFIG",
  "BAD_CONTRIBUTION",
  "UNKNOWN_NEED",
  "MODIFIED",
];

/** Keeps one plugin's process running: restarts it after a crash with growing delays, and quarantines it after too many. */
export class SupervisedProcess {
  readonly #options: SuperviseOptions;
  readonly #times: typeof defaultTimes;
  #state: ProcessState = "stopped";
  #why: { code: string; reason: string } | null = null;
  #crashes: number[] = [];
  #sandbox: Sandbox | null = null;
  #starting: Promise<void> | null = null;
  #restart: ReturnType<typeof setTimeout> | undefined;
  #restartAt = 0;
  readonly #semaphore: Semaphore;

  constructor(options: SuperviseOptions) {
    this.#options = options;
    this.#semaphore = new Semaphore(options.concurrency);
    this.#times = { ...defaultTimes, ...options.times };
  }

  status(): ProcessStatus {
    const degraded = this.#state === "ready" && this.#recent() > 0;
    return {
      state: degraded ? "degraded" : this.#state,
      code: this.#why?.code ?? null,
      reason: this.#why?.reason ?? null,
      crashes: this.#recent(),
      memory: this.#sandbox?.memory() ?? null,
      pid: this.#sandbox?.pid ?? null,
    };
  }

  /**
   * Resolves when the start has succeeded or failed, which `status` shows. After a quarantine, earlier crashes no longer count.
   */
  start(): Promise<void> {
    if (this.#sandbox || this.#starting) return this.#starting ?? Promise.resolve();
    clearTimeout(this.#restart);
    if (this.#state === "quarantined") this.#crashes = [];
    this.#set("starting", this.#why);
    this.#starting = this.#open().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  /** Waits for running calls, then ends the process. */
  async stop(): Promise<void> {
    clearTimeout(this.#restart);
    this.#set("stopped", null);
    await this.#starting;
    const sandbox = this.#sandbox;
    this.#sandbox = null;
    await sandbox?.close();
  }

  /** Ends the process and its calls; only `start` starts it again. */
  quarantine(code: string, reason: string): void {
    clearTimeout(this.#restart);
    this.#set("quarantined", { code, reason });
    const sandbox = this.#sandbox;
    this.#sandbox = null;
    sandbox?.kill(reason);
  }

  /** Runs one function in the process. Waits while the process starts; fails immediately if it is not running. */
  readonly call: Caller = async (target, args, options) => {
    const signal = options?.signal;
    if (this.#starting) await (signal ? abortable(this.#starting, signal) : this.#starting);
    return this.#semaphore.run(() => this.#serving(target.kind).call(target as Target, args, options as CallOptions), {
      signal,
    });
  };

  #serving(kind: Target["kind"]): Sandbox {
    if (this.#sandbox) return this.#sandbox;
    const { name } = this.#options;
    const message = `The plugin ${name} is ${this.#state}${this.#why ? ` (${this.#why.code}): ${this.#why.reason}` : ""}`;
    const waits = this.#state === "backoff";
    // If only an operator can help, a tool's caller gets an answer immediately; other work may be retried much later.
    const needsOperator = !waits || this.#why?.code === "NO_SANDBOX";
    throw new PluginError("unavailable", message, {
      retryable: kind !== "tools" || !needsOperator,
      retry_after_ms: waits ? Math.max(100, this.#restartAt - Date.now()) : operatorMs,
    });
  }

  async #open(): Promise<void> {
    try {
      const sandbox = await this.#options.open();
      if (this.#state !== "starting") return void (await sandbox.close(0));
      this.#sandbox = sandbox;
      this.#set("ready", null);
      void sandbox.whenExited.then(({ reason }) => {
        if (this.#sandbox !== sandbox) return;
        this.#sandbox = null;
        this.#crashed("PLUGIN_CRASHED", reason);
      });
    } catch (error) {
      if (this.#state !== "starting") return;
      const code = error instanceof Refusal ? error.code : "SETUP_FAILED";
      const reason = messageOf(error);
      if (permanentErrors.includes(code)) this.#set("quarantined", { code, reason });
      else if (code === "NO_SANDBOX") this.#startIn(this.#times.maxBackoff, { code, reason });
      else this.#crashed(code, reason);
    }
  }

  #crashed(code: string, reason: string): void {
    const { window, crashes, firstBackoff, maxBackoff } = this.#times;
    this.#crashes = [...this.#crashes.filter((at) => Date.now() - at < window), Date.now()];
    const count = this.#crashes.length;
    if (count >= crashes) {
      this.#set("quarantined", { code, reason: `${reason}; it crashed ${count} times in ${window / 60_000} minutes` });
      return;
    }
    this.#startIn(Math.min(maxBackoff, firstBackoff * 2 ** (count - 1)), { code, reason });
  }

  #startIn(ms: number, cause: { code: string; reason: string }): void {
    this.#restartAt = Date.now() + ms;
    this.#restart = setTimeout(() => void this.start(), ms);
    this.#set("backoff", cause);
  }

  #recent(): number {
    return this.#crashes.filter((at) => Date.now() - at < this.#times.window).length;
  }

  #set(state: ProcessState, cause: { code: string; reason: string } | null): void {
    this.#state = state;
    this.#why = cause;
    this.#options.onStatus(this.status());
  }
}
